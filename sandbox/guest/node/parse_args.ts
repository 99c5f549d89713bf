/** `util.parseArgs`. Bundled into `util`. */
import { codedError, invalidArgument } from "./errors.ts";

interface Option {
  type: "string" | "boolean";
  short?: string;
  multiple?: boolean;
  default?: string | boolean | string[] | boolean[];
}

interface Config {
  args?: readonly string[];
  options?: Record<string, Option>;
  strict?: boolean;
  allowPositionals?: boolean;
  allowNegative?: boolean;
  tokens?: boolean;
}

type Token =
  | {
      kind: "option";
      name: string;
      rawName: string;
      index: number;
      value: string | undefined;
      inlineValue: boolean | undefined;
    }
  | { kind: "positional"; index: number; value: string }
  | { kind: "option-terminator"; index: number };

type Value = string | boolean | (string | boolean)[];

export interface Parsed {
  values: Record<string, Value>;
  positionals: string[];
  tokens?: Token[];
}

/** Throws ERR_PARSE_ARGS_UNKNOWN_OPTION, …_INVALID_OPTION_VALUE, …_UNEXPECTED_POSITIONAL. */
export function parseArgs(config: Config = {}): Parsed {
  const { options = {}, strict = true, allowPositionals = !strict, allowNegative = false } = config;
  for (const [name, option] of Object.entries(options)) {
    if (option.type !== "string" && option.type !== "boolean") {
      throw invalidArgument(`options.${name}.type`, "one of type 'string' | 'boolean'", option.type);
    }
    if (option.short !== undefined && option.short.length !== 1) {
      throw codedError(
        TypeError,
        "ERR_INVALID_ARG_VALUE",
        `options.${name}.short must be a single character`,
      );
    }
  }
  const argv = config.args ?? (globalThis as { process?: { argv?: string[] } }).process?.argv?.slice(2) ?? [];
  const tokens = tokenize(argv, options);
  const values = Object.create(null) as Record<string, Value>;
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") {
      if (!allowPositionals) {
        throw codedError(
          TypeError,
          "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL",
          `Unexpected argument '${token.value}'. This command does not take positional arguments`,
        );
      }
      positionals.push(token.value);
    } else if (token.kind === "option") {
      store(token, values, options, { strict, allowNegative, allowPositionals });
    }
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined && values[name] === undefined) values[name] = option.default as Value;
  }
  return config.tokens ? { values, positionals, tokens } : { values, positionals };
}

function tokenize(argv: readonly string[], options: Record<string, Option>): Token[] {
  const tokens: Token[] = [];
  const takesValue = (name: string): boolean => options[name]?.type === "string";
  const byShort = (short: string): string =>
    Object.entries(options).find(([, option]) => option.short === short)?.[0] ?? short;
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] as string;
    const index = i;
    if (arg === "--") {
      tokens.push({ kind: "option-terminator", index });
      for (let rest = i + 1; rest < argv.length; rest++) {
        tokens.push({ kind: "positional", index: rest, value: argv[rest] as string });
      }
      break;
    }
    const option = (name: string, rawName: string, inline?: string): void => {
      let value = inline;
      let inlineValue: boolean | undefined = inline === undefined ? undefined : true;
      if (value === undefined && takesValue(name) && argv[i + 1] !== undefined) {
        value = argv[++i];
        inlineValue = false;
      }
      tokens.push({ kind: "option", name, rawName, index, value, inlineValue });
    };
    if (arg.startsWith("--")) {
      const equals = arg.indexOf("=", 3);
      const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
      option(name, `--${name}`, equals < 0 ? undefined : arg.slice(equals + 1));
    } else if (arg.startsWith("-") && arg.length > 1) {
      // -abc, -ofile
      for (let at = 1; at < arg.length; at++) {
        const short = arg[at] as string;
        const name = byShort(short);
        const isLast = at === arg.length - 1;
        if (!isLast && takesValue(name)) {
          option(name, `-${short}`, arg.slice(at + 1));
          break;
        }
        option(name, `-${short}`);
      }
    } else tokens.push({ kind: "positional", index, value: arg });
  }
  return tokens;
}

function store(
  token: Token & { kind: "option" },
  values: Record<string, Value>,
  options: Record<string, Option>,
  {
    strict,
    allowNegative,
    allowPositionals,
  }: Required<Pick<Config, "strict" | "allowNegative" | "allowPositionals">>,
): void {
  let { name } = token;
  let value: string | boolean = token.value ?? true;
  if (allowNegative && name.startsWith("no-") && !Object.hasOwn(options, name)) {
    const positive = name.slice(3);
    if (token.value === undefined && (options[positive]?.type === "boolean" || !strict)) {
      name = positive;
      token.name = positive;
      value = false;
    }
  }
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (strict) {
    if (!option) {
      const hint = allowPositionals
        ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(token.rawName)}`
        : "";
      throw codedError(
        TypeError,
        "ERR_PARSE_ARGS_UNKNOWN_OPTION",
        `Unknown option '${token.rawName}'${hint}`,
      );
    }
    const shown = `${option.short ? `-${option.short}, ` : ""}--${name}`;
    if (option.type === "string" && typeof value !== "string") {
      throw codedError(
        TypeError,
        "ERR_PARSE_ARGS_INVALID_OPTION_VALUE",
        `Option '${shown} <value>' argument missing`,
      );
    }
    if (
      option.type === "string" &&
      token.inlineValue === false &&
      `${value}`.length > 1 &&
      `${value}`.startsWith("-")
    ) {
      throw codedError(
        TypeError,
        "ERR_PARSE_ARGS_INVALID_OPTION_VALUE",
        `Option '${token.rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${token.rawName}'?\nTo specify an option argument starting with a dash use '${token.rawName.startsWith("--") ? `${token.rawName}=-XYZ` : `--${name}=-XYZ' or '${token.rawName}-XYZ`}'.`,
      );
    }
    if (option.type === "boolean" && typeof value === "string") {
      throw codedError(
        TypeError,
        "ERR_PARSE_ARGS_INVALID_OPTION_VALUE",
        `Option '${shown}' does not take an argument`,
      );
    }
  }
  if (name === "__proto__") return;
  if (option?.multiple) {
    values[name] ??= [];
    const list = values[name] as (string | boolean)[];
    list.push(value);
  } else values[name] = value;
}
