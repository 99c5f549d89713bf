/** The other side of the raw `postMessage` ping-pong: answers each frame as a guest does (src/extensions/worker.ts), with nothing in between. */
import type { GuestMessage } from "../../sandbox/guest/protocol.ts";

addEventListener("message", ({ data }: MessageEvent<{ id: string } | string>) => {
  const { id } = typeof data === "string" ? (JSON.parse(data) as { id: string }) : data;
  const answer = JSON.stringify({ type: "response", id, allow: true });
  postMessage(["frame", answer] satisfies GuestMessage);
});
