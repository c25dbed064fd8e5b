import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LockRefused, lockOrRefuse } from "./lock.ts";

describe("a lock on a name in a directory", () => {
  let directory = "";
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "lock-"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it("is held by one and refused to others, with what to do", () => {
    const held = lockOrRefuse(directory, "a", "runner a");
    expect(() => lockOrRefuse(directory, "a", "runner a")).toThrow(LockRefused);
    expect(() => lockOrRefuse(directory, "a", "runner a")).toThrow(/runner a: another process uses it/);
    lockOrRefuse(directory, "b", "runner b").release();
    held.release();
    lockOrRefuse(directory, "a", "runner a").release();
  });

  it("is refused where the directory cannot be made", () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(() => lockOrRefuse(join(file, "below"), "a", "the data directory")).toThrow(/is the directory writable/);
  });

  it("is let go when its process is killed", { timeout: 30_000 }, async () => {
    const source = `import { lockOrRefuse } from ${JSON.stringify(join(import.meta.dirname, "lock.ts"))};
      lockOrRefuse(${JSON.stringify(directory)}, "a", "it"); console.log("held"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    expect(() => lockOrRefuse(directory, "a", "it")).toThrow(LockRefused);
    child.kill("SIGKILL");
    await once(child, "exit");
    lockOrRefuse(directory, "a", "it").release();
  });
});
