import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { GATEWAY_TOKEN_CHARACTERS, readGatewayToken } from "./gateway-token.ts";

async function fileWith(text: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-token-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "token");
  await writeFile(path, text);
  return path;
}

test("the token is read without the line end after it", async () => {
  expect(await readGatewayToken(await fileWith("secret-1\n"))).toBe("secret-1");
});

test.each([
  ["nothing", " \n"],
  ["two words", "one two"],
  ["what is not printable", "tök"],
  ["more than a token has", "x".repeat(GATEWAY_TOKEN_CHARACTERS + 1)],
])("a file with %s is refused, and what it holds is not repeated", async (_, text) => {
  const path = await fileWith(text);
  await expect(readGatewayToken(path)).rejects.toThrow(
    `HOLDFAST_GATEWAY_TOKEN_FILE ${path} must hold one token of 1 to 4096 printable characters`,
  );
});
