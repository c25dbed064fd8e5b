import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ToolCallSchema, ToolCallStatus } from "@holdfast/proto";
import { expect, test } from "vitest";
import { mergeCall } from "./merge.ts";

const { UNSPECIFIED, PENDING, IN_PROGRESS, COMPLETED, FAILED } = ToolCallStatus;

function call(fields: MessageInitShape<typeof ToolCallSchema>) {
  return create(ToolCallSchema, { id: "c1", ...fields });
}

const KNOWN = call({
  title: "Run make",
  kind: "execute",
  status: PENDING,
  rawInputJson: '{"command":"make"}',
  locations: [{ path: "Makefile" }],
  diff: [{ path: "a", oldText: "1", newText: "2" }],
});

test("the first that is heard of a call is all that is known of it", () => {
  expect(mergeCall(undefined, KNOWN)).toEqual(KNOWN);
});

test("an update changes what it says and leaves the rest", () => {
  const merged = mergeCall(KNOWN, call({ status: IN_PROGRESS, rawOutputJson: '"ok"' }));
  expect(merged).toEqual({ ...KNOWN, status: IN_PROGRESS, rawOutputJson: '"ok"' });
  expect(mergeCall(merged, call({ title: "Make" }))).toEqual({ ...merged, title: "Make" });
});

test("what an update says in place of something replaces it as a whole", () => {
  const merged = mergeCall(
    KNOWN,
    call({ diff: [{ path: "b", oldText: "", newText: "3" }], locations: [{ path: "x" }] }),
  );
  expect(merged.diff.map(({ path }) => path)).toEqual(["b"]);
  expect(merged.locations.map(({ path }) => path)).toEqual(["x"]);
});

test("neither of the two is changed", () => {
  const before = structuredClone(KNOWN);
  mergeCall(KNOWN, call({ title: "Other", status: COMPLETED }));
  expect(KNOWN).toEqual(before);
});

test("a call that was cut once stays marked: nobody approves what was not shown (B9)", () => {
  expect(mergeCall(call({ truncated: true }), call({ title: "x" })).truncated).toBe(true);
  expect(mergeCall(KNOWN, call({ truncated: true })).truncated).toBe(true);
});

test("an id that comes back after its call was over is another call, with nothing of the old one's arguments", () => {
  for (const over of [COMPLETED, FAILED]) {
    const old = mergeCall(KNOWN, call({ status: over }));
    const again = call({ title: "Delete", status: PENDING });
    expect(mergeCall(old, again)).toEqual(again);
  }
});

test("an update without a status still belongs to the call that is over", () => {
  const old = mergeCall(KNOWN, call({ status: COMPLETED }));
  expect(mergeCall(old, call({ status: UNSPECIFIED, rawOutputJson: '"late"' }))).toMatchObject({
    status: COMPLETED,
    rawInputJson: KNOWN.rawInputJson,
    rawOutputJson: '"late"',
  });
});
