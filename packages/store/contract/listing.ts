// The contract of listing records, and of records that cannot be read (S3).
import type { RecordStore, SessionKey } from "@holdfast/pool";
import { describe, expect, it } from "vitest";
import { encodeRecord } from "../src/index.ts";
import { firstRecord, KEY } from "./sample.ts";
import { type Open, overStore } from "./subject.ts";

export function listingContract(open: Open): void {
  describe("a listing", () => {
    it("gives a project's records by session id, in the order of their bytes, and no other project's", () =>
      overStore(open, async ({ records }) => {
        for (const id of ["b", "a:2", "Z", "a", "_", ".."]) await create(records, { project: "acme", sessionId: id });
        await create(records, { project: "acme2", sessionId: "a1" });
        expect(await idsOf(records, "acme", 100)).toEqual([
          "acme/..",
          "acme/Z",
          "acme/_",
          "acme/a",
          "acme/a:2",
          "acme/b",
        ]);
        expect(await idsOf(records, "nobody", 100)).toEqual([]);
      }));

    it("of every project goes by project first", () =>
      overStore(open, async ({ records }) => {
        for (const [project, sessionId] of [
          ["b", "1"],
          ["a", "2"],
          ["a", "1"],
          ["ab", "0"],
        ] as const) {
          await create(records, { project, sessionId });
        }
        expect(await idsOf(records, null, 100)).toEqual(["a/1", "a/2", "ab/0", "b/1"]);
      }));

    it("comes in pages that neither repeat nor leave out a record, and says when it is at the end", () =>
      overStore(open, async ({ records }) => {
        const ids = Array.from({ length: 7 }, (_, index) => `s${index}`);
        for (const sessionId of ids) await create(records, { project: "acme", sessionId });
        for (const limit of [1, 2, 3, 7, 8]) {
          expect(await idsOf(records, "acme", limit)).toEqual(ids.map((id) => `acme/${id}`));
          expect(await idsOf(records, null, limit)).toEqual(ids.map((id) => `acme/${id}`));
        }
        expect((await records.list("acme", null, 7)).next).toBeNull();
      }));

    it("goes on behind the last record given, also when records came meanwhile", () =>
      overStore(open, async ({ records }) => {
        for (const sessionId of ["b", "d"]) await create(records, { project: "acme", sessionId });
        const { next } = await records.list("acme", null, 1);
        for (const sessionId of ["a", "c"]) await create(records, { project: "acme", sessionId });
        const { entries } = await records.list("acme", next, 10);
        expect(entries.map(nameOf)).toEqual(["acme/c", "acme/d"]);
      }));

    it("is refused with a limit outside 1 to 500, or a cursor that no listing gave", () =>
      overStore(open, async ({ records }) => {
        for (const limit of [0, -1, 501, 1.5]) {
          await expect(records.list("acme", null, limit)).rejects.toThrow(RangeError);
        }
        for (const cursor of ["", "nonsense", Buffer.from('["a"]').toString("base64url")]) {
          await expect(records.list("acme", cursor, 1)).rejects.toThrow(RangeError);
        }
      }));
  });

  describe("a record that cannot be read", () => {
    const whole = encodeRecord(firstRecord(KEY, "op-1"));
    const unreadable: readonly (readonly [name: string, document: string, why: string])[] = [
      ["newer", whole.replace('"format":1', '"format":7'), "format 7 is newer than 1"],
      ["cut short", whole.slice(0, whole.length / 2), "cut short"],
      ["damaged", whole.replace('"epoch":1', '"epoch":"x"'), "epoch"],
      ["another session's", whole.replace('"build-7"', '"build-8"'), "build-8"],
    ];
    for (const [name, document, why] of unreadable) {
      it(`because it is ${name} is named, says why, and is touched by nobody`, () =>
        overStore(
          open,
          async ({ records }) => {
            const read = await records.get(KEY);
            expect(read).toEqual({ kind: "unreadable", key: KEY, why: expect.stringContaining(why) });
            for (const revision of [0, 1, 2]) {
              const outcome = await records.swap(KEY, revision, firstRecord(KEY, "op-1"), "op-1");
              expect(outcome).toEqual({ kind: "conflict" });
            }
            expect(await records.get(KEY)).toEqual(read);
          },
          [{ key: KEY, document }],
        ));
    }

    it("hides no other record, in pages of any size", () =>
      overStore(
        open,
        async ({ records }) => {
          for (const sessionId of ["a", "z"]) await create(records, { project: KEY.project, sessionId });
          for (const limit of [1, 2, 3]) {
            expect(await idsOf(records, KEY.project, limit)).toEqual(["acme/a", "unreadable acme/build-7", "acme/z"]);
          }
        },
        [{ key: KEY, document: "{" }],
      ));
  });
}

async function create(records: RecordStore, key: SessionKey): Promise<void> {
  expect((await records.swap(key, 0, firstRecord(key, "op-1"), "op-1")).kind).toBe("swapped");
}

type Entry = Awaited<ReturnType<RecordStore["list"]>>["entries"][number];

function nameOf(entry: Entry): string {
  if (entry.kind === "found") return `${entry.record.project}/${entry.record.sessionId}`;
  return `unreadable ${entry.key.project}/${entry.key.sessionId}`;
}

/** All pages of the listing, one after the other. */
async function idsOf(records: RecordStore, project: string | null, limit: number): Promise<readonly string[]> {
  const names: string[] = [];
  let after: string | null = null;
  do {
    const page = await records.list(project, after, limit);
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    names.push(...page.entries.map(nameOf));
    after = page.next;
  } while (after !== null);
  return names;
}
