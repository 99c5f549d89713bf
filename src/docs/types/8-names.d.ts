// The names by which extensions import them. Those with a star stand behind packages that are installed.
declare module "xdev" {
  export * from "xdev:agent";
}
declare module "@f5-sales-demo/*" {
  export * from "xdev:agent";
}
declare module "@*/pi-coding-agent" {
  export * from "xdev:agent";
}
declare module "@*/pi-ai" {
  export * from "xdev:ai";
  export { type Static, StringEnum, type TSchema, Type } from "xdev:schema";
}
declare module "@*/pi-tui" {
  export * from "xdev:tui";
}
declare module "@*/pi-agent-core" {
  export * from "xdev:core";
  export type { AgentMessage, AgentToolResult, AgentToolUpdateCallback, ThinkingLevel } from "xdev:agent";
}
declare module "typebox*" {
  export * from "xdev:schema";
}
declare module "@sinclair/typebox*" {
  export * from "xdev:schema";
}
declare module "@*/pi-utils";
declare module "typebox/*";
declare module "@sinclair/typebox/*";
declare module "@earendil-works/pi-ai/*";
declare module "@earendil-works/pi-tui/*";
declare module "@earendil-works/pi-coding-agent/*";
declare module "@mariozechner/pi-ai/*";
declare module "@mariozechner/pi-tui/*";
declare module "@mariozechner/pi-coding-agent/*";
declare module "@oh-my-pi/pi-ai/*";
declare module "@oh-my-pi/pi-tui/*";
declare module "@oh-my-pi/pi-coding-agent/*";
declare module "zod*";
// Node's modules, where "@types/node" is not installed: everything is `any`.
declare module "node:*";
declare module "child_process*";
declare module "crypto*";
declare module "fs*";
declare module "os*";
declare module "path*";
declare module "url*";
declare module "util*";

declare namespace NodeJS {
  interface Process {
    [member: string]: any;
  }
}
interface BufferConstructor {
  [member: string]: any;
}
interface Buffer<TArrayBuffer extends ArrayBufferLike = ArrayBufferLike> extends Uint8Array<TArrayBuffer> {}
declare var process: NodeJS.Process;
declare var Buffer: BufferConstructor;
