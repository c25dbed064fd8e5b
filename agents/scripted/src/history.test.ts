import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { HISTORY_MAX_BYTES, History } from "./history.ts";
import { MEMORY_MAX_ENTRIES, memoryFile } from "./memory.ts";
import { Session } from "./session.ts";
import { message } from "./voice.ts";

describe("the history", () => {
  test("forgets the oldest updates above its limit and keeps the newest", () => {
    const history = new History();
    const kilobyte = "x".repeat(1_024);
    for (let number = 0; number < 1_000; number += 1) history.record(message(`${number} ${kilobyte}`));
    expect(Buffer.byteLength(JSON.stringify(history.updates))).toBeLessThan(HISTORY_MAX_BYTES + 1_024);
    expect(history.updates.length).toBeGreaterThan(200);
    expect(JSON.stringify(history.updates.at(-1))).toContain("999 ");
    expect(JSON.stringify(history.updates[0])).not.toContain('"0 x');
  });

  test("does not keep an update that is larger than its limit", () => {
    const history = new History();
    history.record(message("x".repeat(HISTORY_MAX_BYTES)));
    expect(history.updates).toEqual([]);
  });
});

describe("the memory", () => {
  const made: string[] = [];
  const directory = () => {
    const fresh = mkdtempSync(join(tmpdir(), "scripted-"));
    made.push(fresh);
    return fresh;
  };

  afterEach(() => {
    for (const each of made.splice(0)) rmSync(each, { recursive: true, force: true });
  });

  test("comes back whole in another process", () => {
    const session = Session.create(directory());
    session.remember("color", "red");
    session.allowAlways("make");
    session.setMode("read-only");
    session.record(message("hello"));
    expect(session.nextToolCallId()).toBe("call-1");

    const again = Session.restore(session.directory, session.id);
    expect(again?.recall("color")).toBe("red");
    expect(again?.isAlwaysAllowed("make")).toBe(true);
    expect(again?.readOnly).toBe(true);
    expect(again?.history).toEqual(session.history);
    expect(again?.nextToolCallId()).toBe("call-2");
  });

  test("holds no more keys than its limit, and lets a known one change", () => {
    const session = Session.create(directory());
    for (let number = 0; number < MEMORY_MAX_ENTRIES; number += 1) session.remember(`key-${number}`, "old");
    expect(session.remember("one more", "new")).toBe(false);
    expect(session.remember("key-0", "new")).toBe(true);
    expect(session.recall("key-0")).toBe("new");
  });

  test("keeps a key that looks like something else", () => {
    const session = Session.create(directory());
    expect(session.recall("constructor")).toBeUndefined();
    session.remember("__proto__", "just a key");
    expect(Session.restore(session.directory, session.id)?.recall("__proto__")).toBe("just a key");
  });

  test.each(["nobody", "../../etc/passwd", ""])("does not know the session `%s`", (id) => {
    expect(Session.restore(directory(), id)).toBeUndefined();
  });

  test("of another format is an error that names the file and leaves it as it was", () => {
    const session = Session.create(directory());
    const file = memoryFile(session.directory, session.id);
    writeFileSync(file, '{"format":99}');
    expect(() => Session.restore(session.directory, session.id)).toThrow(file);
    expect(readFileSync(file, "utf8")).toBe('{"format":99}');
  });
});
