import { describe, expect, test } from "vitest";
import * as limit from "./limits.ts";
import { entries, fields, many, NOW_MS, runTurn, value } from "./request.fixture.ts";

describe("secrets", () => {
  const expiring = (seconds: bigint) => ({ value: "v", expiresAt: { seconds, nanos: 0 } });

  test("have a name, a value of at most 64 KiB, and an end that lies ahead", () => {
    const end = BigInt(NOW_MS / 1_000);
    expect(fields(runTurn({ secrets: { API_KEY: { value: many(limit.SECRET_VALUE_BYTES) } } }))).toEqual([]);
    expect(fields(runTurn({ secrets: { K: { value: many(limit.SECRET_VALUE_BYTES + 1) } } }))).toEqual([
      'secrets["K"].value',
    ]);
    expect(fields(runTurn({ secrets: { K: { value: "" } } }))).toEqual(['secrets["K"].value']);
    expect(fields(runTurn({ secrets: { "1 k": { value: "v" } } }))).toEqual(['secrets["1 k"]']);
    expect(fields(runTurn({ secrets: { [many(129)]: { value: "v" } } }))).toHaveLength(1);
    expect(fields(runTurn({ secrets: { K: expiring(end) } }))).toEqual(['secrets["K"].expires_at']);
    expect(fields(runTurn({ secrets: { K: expiring(2n ** 60n) } }))).toEqual(['secrets["K"].expires_at']);
    const secrets = value(runTurn({ secrets: { K: expiring(end + 1n) } })).secrets;
    expect(secrets.get("K")).toEqual({ value: "v", expiresAtMs: NOW_MS + 1_000 });
  });

  test("are at most 64", () => {
    expect(fields(runTurn({ secrets: entries(limit.SECRETS, { value: "v" }) }))).toEqual([]);
    expect(fields(runTurn({ secrets: entries(limit.SECRETS + 1, { value: "v" }) }))).toEqual(["secrets"]);
  });

  test("never show in a refusal, whatever else is wrong", () => {
    const secret = "hunter2-hunter2";
    const result = runTurn({
      sessionId: "",
      secrets: { K: { value: `${secret}\u0000`, expiresAt: { seconds: 0n, nanos: -1 } } },
      config: {
        mcpServers: [
          { name: "m", transport: { case: "stdio", value: { command: "c", args: [`--token=${secret}`] } } },
          {
            name: "n",
            transport: {
              case: "http",
              value: {
                url: `https://u:${secret}@host/`,
                headers: { Authorization: { value: { case: "literal", value: secret } } },
              },
            },
          },
        ],
      },
    });
    expect(fields(result)).toEqual([
      "session_id",
      'secrets["K"].value',
      'secrets["K"].expires_at',
      "config.mcp_servers[0].stdio.args[0]",
      "config.mcp_servers[1].http.url",
      'config.mcp_servers[1].http.headers["Authorization"].literal',
    ]);
    expect(JSON.stringify(result)).not.toContain(secret);
  });
});
