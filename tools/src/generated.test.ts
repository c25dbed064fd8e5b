import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { differencesBetween } from "./generated.ts";

const scratch: string[] = [];

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-generated-test-"));
  scratch.push(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

afterEach(async () => {
  for (const folder of scratch.splice(0)) await rm(folder, { recursive: true, force: true });
});

it("two folders that hold the same have no differences", async () => {
  const files = { "v1/gate_pb.ts": "gate", "v1/event_pb.ts": "event" };
  expect(await differencesBetween(await folderOf(files), await folderOf(files))).toEqual([]);
});

it("a file that changed, one that is gone and one that is new are each told", async () => {
  const committed = await folderOf({ "a_pb.ts": "old", "v1/gone_pb.ts": "gone", "same_pb.ts": "same" });
  const fresh = await folderOf({ "a_pb.ts": "new", "v1/new_pb.ts": "new", "same_pb.ts": "same" });
  expect(await differencesBetween(committed, fresh)).toEqual([
    "a_pb.ts differs from what is generated",
    "v1/gone_pb.ts is committed but no longer generated",
    "v1/new_pb.ts is generated but not committed",
  ]);
});
