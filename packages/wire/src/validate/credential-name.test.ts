import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { credentialArguments, isLiteralCredential, namesCredential, urlHoldsCredential } from "./credential-name.ts";

describe("a name of a credential", () => {
  test.each([
    "Authorization",
    "proxy-authorization",
    "Cookie",
    "x-api-key",
    "API_KEY",
    "githubToken",
    "DB_PASSWORD",
    "client.secret",
    "AWS_SECRET_ACCESS_KEY",
    "apikey",
  ])("%s is one", (name) => {
    expect(namesCredential(name)).toBe(true);
  });

  test.each(["MAX_TOKENS", "KEYBOARD", "TOKEN_FILE", "SECRETS_DIR", "AUTH_URL", "HOME", "Accept", "monkey", ""])(
    "%s is none",
    (name) => {
      expect(namesCredential(name)).toBe(false);
    },
  );

  test("has nothing to hide when the literal is empty", () => {
    expect(isLiteralCredential("API_KEY", "")).toBe(false);
    expect(isLiteralCredential("Accept", "text/plain")).toBe(false);
    expect(isLiteralCredential("X", "bearer abc")).toBe(true);
  });
});

describe("arguments", () => {
  test("that carry a credential after a flag of such a name are found", () => {
    expect(credentialArguments(["--token", "abc", "--verbose", "--api-key=abc", "--token-file", "f"])).toEqual([1, 3]);
    expect(credentialArguments(["--token", "--verbose", "--key="])).toEqual([]);
    expect(credentialArguments(["--header", "Bearer abc"])).toEqual([1]);
  });

  test("of any text are judged without throwing", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (args) => {
        expect(credentialArguments(args).length).toBeLessThanOrEqual(args.length);
      }),
    );
  });
});

describe("a URL", () => {
  test("with user info or a parameter named like a credential holds one", () => {
    expect(urlHoldsCredential(new URL("https://user:pw@host/"))).toBe(true);
    expect(urlHoldsCredential(new URL("https://host/?api_key=x"))).toBe(true);
    expect(urlHoldsCredential(new URL("https://host/?page=2"))).toBe(false);
  });
});
