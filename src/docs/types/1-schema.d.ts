// Types of xdev's extension API, for editors: written by `xdev ext types`. Nothing of it is needed to run an extension.
// Packages that you have installed go before what stands here for them.

declare module "xdev:schema" {
  /** A JSON Schema: made with `Type`, or written down. */
  export interface TSchema {
    static: unknown;
    title?: string;
    description?: string;
    default?: any;
    [keyword: string]: any;
  }

  type Optional = { readonly "~optional": true };
  type OptionalKeys<P> = { [K in keyof P]: P[K] extends Optional ? K : never }[keyof P];
  type Flat<T> = { [K in keyof T]: T[K] };
  type Members<P> = Flat<
    { -readonly [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & { -readonly [K in OptionalKeys<P>]?: Static<P[K]> }
  >;
  type Listed<P, R> = Flat<
    { -readonly [K in keyof P as K extends R ? K : never]: Static<P[K]> } & {
      -readonly [K in keyof P as K extends R ? never : K]?: Static<P[K]>;
    }
  >;

  /** What fits a schema: of `Type`, of an installed typebox, or of plain JSON Schema. `any` where that can't be told. */
  export type Static<T> = T extends { static: infer S }
    ? S
    : T extends { const: infer C }
      ? C
      : T extends { enum: readonly (infer E)[] }
        ? E
        : T extends { anyOf: readonly (infer U)[] }
          ? Static<U>
          : T extends { "~kind": "Object"; properties: infer P }
            ? Members<P>
            : T extends { type: infer K }
              ? string extends K
                ? any
                : K extends "string"
                  ? string
                  : K extends "number" | "integer"
                    ? number
                    : K extends "boolean"
                      ? boolean
                      : K extends "null"
                        ? null
                        : K extends "array"
                          ? T extends { items: infer I }
                            ? Static<I>[]
                            : any[]
                          : K extends "object"
                            ? T extends { properties: infer P; required: readonly (infer R)[] }
                              ? Listed<P, R>
                              : T extends { properties: infer P }
                                ? Listed<P, never>
                                : Record<string, any>
                            : any
              : any;

  export interface TString extends TSchema { type: "string"; static: string }
  export interface TNumber extends TSchema { type: "number"; static: number }
  export interface TInteger extends TSchema { type: "integer"; static: number }
  export interface TBoolean extends TSchema { type: "boolean"; static: boolean }
  export interface TNull extends TSchema { type: "null"; static: null }
  export interface TAny extends TSchema { static: any }
  export interface TUnknown extends TSchema { static: unknown }
  export interface TLiteral<T> extends TSchema { const: T; static: T }
  export interface TArray<T> extends TSchema { type: "array"; items: T; static: Static<T>[] }
  export interface TTuple<T extends readonly unknown[]> extends TSchema { static: { -readonly [K in keyof T]: Static<T[K]> } }
  export interface TObject<P> extends TSchema { type: "object"; properties: P; static: Members<P> }
  export interface TRecord<V> extends TSchema { type: "object"; static: Record<string, Static<V>> }
  export interface TUnion<T extends readonly unknown[]> extends TSchema { anyOf: T; static: Static<T[number]> }
  export interface TIntersect<T extends readonly unknown[]> extends TSchema { allOf: T; static: any }
  export interface TEnum<T> extends TSchema { static: T }
  export interface TUnsafe<T> extends TSchema { static: T }
  export type TOptional<T> = T & Optional;
  export type TProperties = Record<string, TSchema>;

  type Options = Record<string, unknown>;

  /** Makes JSON Schemas. The commonest of it; what is not here is in the types of the package itself. */
  export const Type: {
    String(options?: Options): TString;
    Number(options?: Options): TNumber;
    Integer(options?: Options): TInteger;
    Boolean(options?: Options): TBoolean;
    Null(options?: Options): TNull;
    Any(options?: Options): TAny;
    Unknown(options?: Options): TUnknown;
    Literal<const T extends string | number | boolean>(value: T, options?: Options): TLiteral<T>;
    Array<T extends TSchema>(items: T, options?: Options): TArray<T>;
    Tuple<const T extends readonly TSchema[]>(items: T, options?: Options): TTuple<T>;
    Object<P extends TProperties>(properties: P, options?: Options): TObject<P>;
    Record<V extends TSchema>(key: TSchema, value: V, options?: Options): TRecord<V>;
    Union<const T extends readonly TSchema[]>(variants: T, options?: Options): TUnion<T>;
    Intersect<const T extends readonly TSchema[]>(parts: T, options?: Options): TIntersect<T>;
    Enum<T extends Record<string, string | number>>(values: T, options?: Options): TEnum<T[keyof T]>;
    Optional<T extends TSchema>(schema: T): TOptional<T>;
    Partial<P>(schema: TObject<P>, options?: Options): TSchema & { static: Partial<Members<P>> };
    Pick<P, K extends keyof P>(schema: TObject<P>, keys: readonly K[], options?: Options): TObject<Pick<P, K>>;
    Omit<P, K extends keyof P>(schema: TObject<P>, keys: readonly K[], options?: Options): TObject<Omit<P, K>>;
    Unsafe<T>(schema: Options): TUnsafe<T>;
    [name: string]: any;
  };

  /** A text that is one of these: an enumeration that every model understands. */
  export function StringEnum<const T extends readonly string[]>(
    values: T,
    options?: { description?: string; default?: T[number] },
  ): TUnsafe<T[number]>;
}
