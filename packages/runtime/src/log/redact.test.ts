import { describe, expect, it } from "vitest";
import { redact } from "./redact.ts";

describe("known secrets", () => {
  it("are taken out wherever they stand, the longer ones first", () => {
    expect(redact("it ends hunter2hunter2", ["hunter2hunter2"])).toBe("it ends [redacted]");
    expect(redact("a hunter2 and hunter2-long", ["hunter2", "hunter2-long"])).toBe("a [redacted] and [redacted]");
  });

  it("are taken out of JSON, URLs and base64", () => {
    const secret = 'p"ss/w rd\n9';
    const shapes = [JSON.stringify({ k: secret }), encodeURIComponent(secret), Buffer.from(secret).toString("base64")];
    for (const shape of shapes) {
      const clean = redact(`before ${shape} after`, [secret]);
      expect(clean).toContain("[redacted]");
      expect(clean).not.toContain("ss/w rd");
      expect(clean).not.toContain(Buffer.from(secret).toString("base64"));
    }
  });

  it("are taken out when the text begins or ends in the middle of one", () => {
    const secret = "correct-horse-battery";
    expect(redact("horse-battery was refused", [secret])).toBe("[redacted] was refused");
    expect(redact("I used correct-hor", [secret])).toBe("I used [redacted]");
  });

  it("that are empty take nothing out", () => {
    expect(redact("nothing here", [""])).toBe("nothing here");
  });
});

describe("what looks like a credential", () => {
  it.each([
    ["authorization: Bearer abc.def-123456", "abc.def-123456"],
    ["Basic dXNlcjpwYXNz was sent", "dXNlcjpwYXNz"],
    ["invalid key sk-ant-api03-abcdefghij", "sk-ant-api03-abcdefghij"],
    ["remote: ghp_abcdefghijklmnopqrst", "ghp_abcdefghijklmnopqrst"],
    ["AKIAABCDEFGHIJKLMNOP is not active", "AKIAABCDEFGHIJKLMNOP"],
    ["jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl expired", "eyJzdWIiOiIx"],
    ["nats://user:pa55@host:4222 refused", "pa55"],
    ["ANTHROPIC_API_KEY=dummy-value", "dummy-value"],
    ['{"apiKey": "abcd1234", "model": "m"}', "abcd1234"],
    ["password: correct1", "correct1"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"],
  ])("is taken out of %j", (text, secret) => {
    const clean = redact(text);
    expect(clean).not.toContain(secret);
    expect(clean).toContain("[redacted]");
  });

  it("leaves ordinary text alone", () => {
    for (const text of [
      "cannot find module './main.ts'",
      "exit code 3 after 12 tokens",
      "listening on http://127.0.0.1:7420/",
    ]) {
      expect(redact(text)).toBe(text);
    }
  });

  it("is looked for in linear time", () => {
    const started = performance.now();
    redact("token".repeat(13_000));
    redact(`://${"a".repeat(65_000)}`);
    redact(`bearer ${" ".repeat(65_000)}`);
    redact("-----BEGIN ".repeat(6_000));
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
