import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, type Log, sha256 } from "@holdfast/runtime";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { hasRole, isAdmin } from "./caller.ts";
import { type Credentials, fileCredentials, openCredentials } from "./credentials.ts";
import { parseTokens, TOKEN_CHARACTERS, TOKENS, TOKENS_FILE_BYTES } from "./tokens.ts";

let directory: string;
let path: string;
let lines: string[];
let log: Log;
let open: Credentials[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-tokens-"));
  path = join(directory, "tokens.json");
  lines = [];
  log = createLog({ service: "test", destination: { write: (line) => void lines.push(line) } });
  open = [];
});

afterEach(async () => {
  for (const credentials of open) credentials.close();
  await rm(directory, { recursive: true });
});

const entry = (token: string, project = "p1") => ({
  sha256: sha256(token),
  project,
  principal: `user-of-${project}`,
  roles: ["run", "watch"],
});

async function write(...tokens: unknown[]): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify({ tokens }));
  await rename(`${path}.new`, path);
}

async function started(): Promise<Credentials> {
  const credentials = await fileCredentials(path, log, 20);
  open.push(credentials);
  return credentials;
}

it("takes every caller for the admin of project default when there is no file", () => {
  const caller = openCredentials().authenticate(undefined);
  expect(caller).toMatchObject({ project: "default", roles: new Set(["admin"]) });
});

it("knows a caller by the digest of its token and refuses everybody else", async () => {
  await write(entry("secret-1"), entry("secret-2", "p2"));
  const credentials = await started();
  expect(credentials.authenticate("Bearer secret-2")).toMatchObject({ project: "p2", principal: "user-of-p2" });
  expect(credentials.authenticate("bearer  secret-1")).toMatchObject({ project: "p1" });
  const strangers = [undefined, "", "Bearer", "Bearer ", "Bearer nobody", "Basic secret-1", "secret-1", "Bearer a b"];
  for (const header of [...strangers, `Bearer ${"x".repeat(TOKEN_CHARACTERS)}`]) {
    const answer = credentials.authenticate(header);
    expect(answer).toMatchObject({ reason: "CREDENTIAL_INVALID" });
    expect(JSON.stringify(answer)).not.toContain("secret-1");
  }
});

it("reads the file again when it changes", async () => {
  await write(entry("old"));
  const credentials = await started();
  await write(entry("new"));
  await vi.waitFor(() => expect(credentials.authenticate("Bearer new")).toMatchObject({ project: "p1" }));
  expect(credentials.authenticate("Bearer old")).toMatchObject({ reason: "CREDENTIAL_INVALID" });
});

it("keeps the tokens it has when the file breaks or goes, says so, and takes the next good one", async () => {
  await write(entry("old"));
  const credentials = await started();
  await writeFile(path, "{ not json");
  await vi.waitFor(() => expect(lines.join("")).toContain("is not JSON"));
  expect(credentials.authenticate("Bearer old")).toMatchObject({ project: "p1" });
  await rm(path);
  await vi.waitFor(() => expect(lines.join("")).toContain("ENOENT"));
  expect(credentials.authenticate("Bearer old")).toMatchObject({ project: "p1" });
  await write(entry("new"));
  await vi.waitFor(() => expect(credentials.authenticate("Bearer new")).toMatchObject({ project: "p1" }));
});

it("does not start with a file that cannot be used", async () => {
  await expect(started()).rejects.toThrow(/tokens\.json: cannot be read \(ENOENT\)/);
  await writeFile(path, "x".repeat(TOKENS_FILE_BYTES + 1));
  await expect(started()).rejects.toThrow(/larger than/);
  await write({ ...entry("t"), roles: ["boss"] });
  await expect(started()).rejects.toThrow(/tokens\[0\]\.roles\[0\] must be one of run, approve, watch, admin/);
});

it.each([
  ["[]", /the file/],
  ['{"tokens":[{}]}', /tokens\[0\]\.sha256/],
  [JSON.stringify({ tokens: [{ ...entry("t"), sha256: "ABC" }] }), /tokens\[0\]\.sha256 must be 64 lower-case/],
  [JSON.stringify({ tokens: [{ ...entry("t"), roles: [] }] }), /tokens\[0\]\.roles must name at least one role/],
  [JSON.stringify({ tokens: [{ ...entry("t"), project: "" }] }), /tokens\[0\]\.project/],
  [JSON.stringify({ tokens: [{ ...entry("t"), token: "t" }] }), /tokens\[0\]/],
  [JSON.stringify({ tokens: [entry("t"), entry("t")] }), /tokens has a token twice/],
  [
    JSON.stringify({ tokens: Array.from({ length: TOKENS + 1 }, (_, n) => entry(`${n}`)) }),
    /has more than 1024 entries/,
  ],
])("names what is wrong with %.60s", (text, problem) => {
  expect(() => parseTokens(text)).toThrow(problem);
});

it("gives admin every role, and every other role only itself", () => {
  const of = (...roles: ("run" | "watch" | "admin")[]) => ({ project: "p", principal: "x", roles: new Set(roles) });
  expect(hasRole(of("admin"), "approve")).toBe(true);
  expect(hasRole(of("run"), "run")).toBe(true);
  expect(hasRole(of("run", "watch"), "approve")).toBe(false);
  expect(isAdmin(of("run"))).toBe(false);
});
