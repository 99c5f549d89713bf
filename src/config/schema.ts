/** The schema of `<dataDir>/config.yml`; its JSON Schema is generated from it. */
import { z } from "zod";
import { hooksSettingSchema } from "../hooks/schema.ts";

const milliseconds = z.number().int().min(1).max(86_400_000);

const count = z.number().int().min(1).max(1_000_000_000);

const limits = {
  handshakeTimeoutMs: milliseconds.describe("from the start of an extension to its capabilities"),
  eventTimeoutMs: milliseconds.describe("one answer of an extension; a later one is too late and ends it"),
  toolTimeoutMs: milliseconds.describe("one run of an extension's tool or command"),
  onDeath: z
    .enum(["prune", "restart", "deny"])
    .describe(
      "what follows an extension's death: it is left out, started again, or every later call is denied",
    ),
  maxFrameBytes: z.number().int().min(1024).max(1_073_741_824).describe("the longest frame of an extension"),
  isolation: z
    .enum(["auto", "worker", "host"])
    .describe(
      "where a module runs: in a worker of the agent's process, or in an extension host, a process without rights",
    ),
  maxHeapBytes: z
    .number()
    .int()
    .min(8 * 1024 * 1024)
    .max(64 * 1024 ** 3)
    .describe("memory that a module may use over that at its start"),
  maxFramesPerSecond: count.describe(
    "frames that an extension may send without being asked; twice as many at once",
  ),
  maxLogBytesPerSecond: count.describe("what an extension may write to its log; twice as much at once"),
  maxTimers: count.describe("timers that a module may have at a time"),
  maxPendingCalls: count.describe(
    "calls of an extension that may be under way at a time, and as many system calls of a module",
  ),
  maxOpenFiles: count.describe("files, programs and connections, each, that a module may have open"),
};

export const settingsSchema = z.strictObject({
  extensionHost: z
    .strictObject({
      handshakeTimeoutMs: limits.handshakeTimeoutMs.default(10_000),
      eventTimeoutMs: limits.eventTimeoutMs.default(5_000),
      toolTimeoutMs: limits.toolTimeoutMs.default(600_000),
      maxFrameBytes: limits.maxFrameBytes.default(8 * 1024 * 1024),
      onDeath: limits.onDeath.default("prune"),
      isolation: limits.isolation.default("auto"),
      maxHeapBytes: limits.maxHeapBytes.default(64 * 1024 * 1024),
      maxFramesPerSecond: limits.maxFramesPerSecond.default(1000),
      maxLogBytesPerSecond: limits.maxLogBytesPerSecond.default(1024 * 1024),
      maxTimers: limits.maxTimers.default(10_000),
      maxPendingCalls: limits.maxPendingCalls.default(256),
      maxOpenFiles: limits.maxOpenFiles.default(256),
      allowProviders: z
        .array(z.string())
        .default([])
        .describe(
          "names of extensions that may register a model provider: they can then read your conversation",
        ),
      overrides: z
        .record(
          z.string(),
          z
            .strictObject({
              ...limits,
              required: z.boolean().describe("short for onDeath: deny, from the start on"),
            })
            .partial(),
        )
        .default({})
        .describe("limits for single extensions, by name"),
    })
    .prefault({}),
  extensions: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "extensions besides those of the data dir: files, and folders with one or with several; ~ is your home, and other paths are relative to this file",
    ),
  disabledExtensions: z
    .array(z.string().min(1))
    .default([])
    .describe("extensions that are not loaded, by name: extension-module:NAME"),
  session: z
    .strictObject({
      retry: z
        .strictObject({
          enabled: z.boolean().default(true).describe("try a request again after a failure that may pass"),
          maxRetries: z.number().int().min(0).max(100).default(3).describe("how often"),
          baseDelayMs: milliseconds.default(2000).describe("the first wait; it doubles each time"),
        })
        .prefault({}),
      compaction: z
        .strictObject({
          enabled: z
            .boolean()
            .default(true)
            .describe("summarise a conversation that has become too long for its model"),
          reserveTokens: count
            .default(16_384)
            .describe("when fewer tokens than these are left of the window"),
          keepRecentTokens: count
            .default(20_000)
            .describe("about how much of the end of the conversation stays as it is, in tokens"),
        })
        .prefault({}),
    })
    .prefault({})
    .describe("what a session does by itself"),
  hooks: hooksSettingSchema
    .default({})
    .describe("shell commands by event, asked in this order; a command of tool_call may deny the call"),
});

export type Settings = z.infer<typeof settingsSchema>;
