/** The schema of `<dataDir>/config.yml`; its JSON Schema is generated from it. */
import { z } from "zod";

const milliseconds = z.number().int().min(1).max(86_400_000);

const limits = {
  handshakeTimeoutMs: milliseconds.describe("from the start of an extension to its capabilities"),
  eventTimeoutMs: milliseconds.describe("one answer of an extension; a later one is too late and ends it"),
  toolTimeoutMs: milliseconds.describe("one run of an extension's tool or command"),
  maxFrameBytes: z.number().int().min(1024).max(1_073_741_824).describe("the longest frame of an extension"),
};

export const settingsSchema = z.strictObject({
  extensionHost: z
    .strictObject({
      handshakeTimeoutMs: limits.handshakeTimeoutMs.default(10_000),
      eventTimeoutMs: limits.eventTimeoutMs.default(5_000),
      toolTimeoutMs: limits.toolTimeoutMs.default(600_000),
      maxFrameBytes: limits.maxFrameBytes.default(8 * 1024 * 1024),
      overrides: z
        .record(z.string(), z.strictObject(limits).partial())
        .default({})
        .describe("limits for single extensions, by name"),
    })
    .prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
