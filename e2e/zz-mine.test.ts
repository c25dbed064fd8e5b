import { toJsonString } from "@bufbuild/protobuf";
import { TurnEventSchema } from "@holdfast/proto";
import { it } from "vitest";
import { Stack } from "./src/stack.ts";
import { appendFileSync } from "node:fs";
const log = (t: string) => appendFileSync("/tmp/dbg.out", `${t}\n`);
it("debug", { timeout: 200000 }, async () => {
  const stack = await Stack.start();
  const caller = stack.caller();
  const below = await caller.turn("lines", `noise oversized 7`);
  for (const e of below.events) log(toJsonString(TurnEventSchema, e).slice(0, 300));
  const image = (bytes: number) => ({ block: { case: "image" as const, value: { mimeType: "image/png", uri: `file:///${bytes}.png`, data: Buffer.alloc(bytes, 1) } } });
  const turn = await caller.turn("attached", "", { prompt: [image(65536), image(65537), { block: { case: "text", value: { text: "say seen" } } }] });
  for (const e of turn.events) log(toJsonString(TurnEventSchema, e).slice(0, 300));
  const told = await caller.watchUntil("attached", 0, ({ event }) => event.case === "ended");
  for (const e of told.events) log(toJsonString(TurnEventSchema, e).slice(0, 600));
  await stack.close();
});
