/** The schema of `<dataDir>/config.yml`; its JSON Schema is generated from it. */
import { z } from "zod";
import { hooksSettingSchema } from "../hooks/schema.ts";

const milliseconds = z.number().int().min(1).max(86_400_000);

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
};

export const settingsSchema = z.strictObject({
  extensionHost: z
    .strictObject({
      handshakeTimeoutMs: limits.handshakeTimeoutMs.default(10_000),
      eventTimeoutMs: limits.eventTimeoutMs.default(5_000),
      toolTimeoutMs: limits.toolTimeoutMs.default(600_000),
      maxFrameBytes: limits.maxFrameBytes.default(8 * 1024 * 1024),
      onDeath: limits.onDeath.default("prune"),
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
  hooks: hooksSettingSchema
    .default({})
    .describe("shell commands by event, asked in this order; a command of tool_call may deny the call"),
});

export type Settings = z.infer<typeof settingsSchema>;
