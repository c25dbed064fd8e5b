import { describe, expect, it } from "vitest";
import { describeSettings, readSettings, SETTINGS, SettingsInvalid, settingNames, settingsTable } from "./settings.ts";

function problemsOf(env: Record<string, string>, service?: "gateway" | "runner"): readonly string[] {
  try {
    readSettings(env, service);
  } catch (error) {
    if (error instanceof SettingsInvalid) return error.problems.map(({ name, problem }) => `${name} ${problem}`);
    throw error;
  }
  return [];
}

describe("settings without any variable", () => {
  it("are the documented defaults", () => {
    expect(readSettings({})).toMatchObject({
      host: "127.0.0.1",
      port: 7420,
      dataDir: ".holdfast",
      runners: 2,
      natsUrl: null,
      tokensFile: null,
      idleTtlMs: 60_000,
      idleMaxMs: 86_400_000,
      approvalTtlMs: 300_000,
      approvalMaxMs: 86_400_000,
      approvalExpiryMs: 7 * 86_400_000,
      turnLimitMs: 30 * 60_000,
      turnMaxMs: 4 * 3_600_000,
      startLimitMs: 60_000,
      sessionRetentionMs: 30 * 86_400_000,
      maxLive: 16,
      memoryBudget: { kind: "percent", percent: 75 },
      leaseTtlMs: 10_000,
      leaseBeatMs: 2_000,
      drainGraceMs: 60_000,
      log: "json",
      metricsPort: null,
    });
  });

  it("cannot be changed, down to their parts", () => {
    const settings = readSettings({ HOLDFAST_RUNNER_ADDRESS: "runner-0:7421" });
    expect(Object.isFrozen(settings)).toBe(true);
    expect(Object.isFrozen(settings.memoryBudget)).toBe(true);
    expect(Object.isFrozen(settings.runnerAddress)).toBe(true);
  });
});

describe("a variable", () => {
  it.each([
    ["HOLDFAST_IDLE_TTL", "250ms", "idleTtlMs", 250],
    ["HOLDFAST_IDLE_TTL", "0", "idleTtlMs", 0],
    ["HOLDFAST_IDLE_TTL", "300s", "idleTtlMs", 300_000],
    ["HOLDFAST_APPROVAL_TTL", "5m", "approvalTtlMs", 300_000],
    ["HOLDFAST_APPROVAL_EXPIRY", "48h", "approvalExpiryMs", 172_800_000],
    ["HOLDFAST_SESSION_RETENTION", "90d", "sessionRetentionMs", 7_776_000_000],
    ["HOLDFAST_MEMORY_BUDGET", "4MiB", "memoryBudget", { kind: "bytes", bytes: 4_194_304 }],
    ["HOLDFAST_MEMORY_BUDGET", "60%", "memoryBudget", { kind: "percent", percent: 60 }],
    ["HOLDFAST_MAX_LIVE", "3", "maxLive", 3],
    ["HOLDFAST_PORT", "0", "port", 0],
    ["HOLDFAST_METRICS_PORT", "9464", "metricsPort", 9464],
    ["HOLDFAST_HOST", "::1", "host", "::1"],
    ["HOLDFAST_RUNNER_ADDRESS", "[::1]:7421", "runnerAddress", { host: "::1", port: 7421 }],
    ["HOLDFAST_RUNNER_ADDRESS", "runner-0.holdfast:7421", "runnerAddress", { host: "runner-0.holdfast", port: 7421 }],
    ["HOLDFAST_NATS_URL", "nats://a:4222,nats://b:4222", "natsUrl", "nats://a:4222,nats://b:4222"],
    ["HOLDFAST_DATA_DIR", "", "dataDir", ".holdfast"],
    ["HOLDFAST_LOG", "pretty", "log", "pretty"],
  ] as const)("%s=%s is read as %s", (name, text, key, value) => {
    expect(readSettings({ [name]: text })[key]).toEqual(value);
  });

  it.each([
    ["HOLDFAST_IDLE_TTL", "60", "is not a duration"],
    ["HOLDFAST_IDLE_TTL", "1.5s", "is not a duration"],
    ["HOLDFAST_IDLE_TTL", "-1s", "is not a duration"],
    ["HOLDFAST_IDLE_TTL", "25h", "must be at most 1d"],
    ["HOLDFAST_TURN_LIMIT", "0", "must be at least 1s"],
    ["HOLDFAST_MEMORY_BUDGET", "4MB", "is not a size"],
    ["HOLDFAST_MEMORY_BUDGET", "0%", "must be between 1% and 100%"],
    ["HOLDFAST_MEMORY_BUDGET", "101%", "must be between 1% and 100%"],
    ["HOLDFAST_MEMORY_BUDGET", "0MiB", "must be more than nothing"],
    ["HOLDFAST_MAX_LIVE", "many", "is not a whole number"],
    ["HOLDFAST_MAX_LIVE", "0", "must be at least 1"],
    ["HOLDFAST_PORT", "65536", "must be at most 65535"],
    ["HOLDFAST_HOST", "local host", "is not a host name"],
    ["HOLDFAST_HOST", "300.1.1.1", "is not a host name"],
    ["HOLDFAST_RUNNER_ADDRESS", "runner-0", "is not an address"],
    ["HOLDFAST_RUNNER_ADDRESS", "runner-0:0", "is not an address"],
    ["HOLDFAST_RUNNER_NAME", "a/b", "is not a name"],
    ["HOLDFAST_NATS_URL", "http://a", "is not a nats or tls or ws or wss URL"],
    ["HOLDFAST_LOG", "loud", "is not one of json, pretty"],
    ["HOLDFAST_DATADIR", "x", "is not a setting"],
  ])("%s=%s is refused by name", (name, text, problem) => {
    expect(problemsOf({ [name]: text })).toEqual([expect.stringContaining(`${name} ${problem}`)]);
  });

  it("without our prefix is none of our business", () => {
    expect(problemsOf({ PATH: "/bin", OTEL_SERVICE_NAME: "x", HOLDFASTER: "1" })).toEqual([]);
  });
});

it("every problem is told at once", () => {
  const problems = problemsOf({
    HOLDFAST_PORT: "seven",
    HOLDFAST_TYPO: "1",
    HOLDFAST_IDLE_TTL: "2h",
    HOLDFAST_IDLE_MAX: "1h",
    HOLDFAST_LEASE_TTL: "oops",
    HOLDFAST_LEASE_BEAT: "1h",
  });
  expect(problems.map((problem) => problem.split(" ")[0])).toEqual([
    "HOLDFAST_PORT",
    "HOLDFAST_LEASE_TTL",
    "HOLDFAST_TYPO",
    "HOLDFAST_IDLE_TTL",
  ]);
});

describe("relations between settings", () => {
  it.each([
    [
      "an approval expiry that is not beyond the longest approval time",
      { HOLDFAST_APPROVAL_EXPIRY: "24h" },
      "HOLDFAST_APPROVAL_EXPIRY",
    ],
    [
      "a retention that is not beyond the approval expiry",
      { HOLDFAST_SESSION_RETENTION: "7d" },
      "HOLDFAST_SESSION_RETENTION",
    ],
    ["an idle time above its maximum", { HOLDFAST_IDLE_TTL: "2m", HOLDFAST_IDLE_MAX: "1m" }, "HOLDFAST_IDLE_TTL"],
    ["an approval time above its maximum", { HOLDFAST_APPROVAL_MAX: "1m" }, "HOLDFAST_APPROVAL_TTL"],
    ["a turn limit above its maximum", { HOLDFAST_TURN_MAX: "1m" }, "HOLDFAST_TURN_LIMIT"],
    ["a start limit above its maximum", { HOLDFAST_START_MAX: "1s" }, "HOLDFAST_START_LIMIT"],
    ["a beat that leaves no room for a lost one", { HOLDFAST_LEASE_BEAT: "3s" }, "HOLDFAST_LEASE_BEAT"],
    ["NATS credentials without NATS", { HOLDFAST_NATS_CREDS: "creds" }, "HOLDFAST_NATS_CREDS"],
    ["a reachable address without a tokens file", { HOLDFAST_HOST: "0.0.0.0" }, "HOLDFAST_HOST"],
    ["a reachable name without a tokens file", { HOLDFAST_HOST: "gateway.example" }, "HOLDFAST_HOST"],
    ["a reachable IPv6 address without a tokens file", { HOLDFAST_HOST: "::" }, "HOLDFAST_HOST"],
  ])("refuse %s", (_, env, name) => {
    expect(problemsOf(env as Record<string, string>)).toEqual([expect.stringMatching(new RegExp(`^${name} `))]);
  });

  it("allow every loopback address without a tokens file, and any address with one", () => {
    for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
      expect(problemsOf({ HOLDFAST_HOST: host })).toEqual([]);
    }
    expect(problemsOf({ HOLDFAST_HOST: "0.0.0.0", HOLDFAST_TOKENS_FILE: "tokens.json" })).toEqual([]);
  });

  it("ask a reachable runner for its gateway's token instead", () => {
    expect(problemsOf({ HOLDFAST_HOST: "0.0.0.0" }, "runner")).toEqual([
      expect.stringContaining("HOLDFAST_GATEWAY_TOKEN_FILE"),
    ]);
    expect(problemsOf({ HOLDFAST_HOST: "0.0.0.0", HOLDFAST_GATEWAY_TOKEN_FILE: "token" }, "runner")).toEqual([]);
  });
});

it("variables that Kubernetes injects for its Services do not stop the configuration from loading", () => {
  const injected = {
    HOLDFAST_PORT: "tcp://10.0.0.1:7420",
    HOLDFAST_SERVICE_HOST: "10.0.0.1",
    HOLDFAST_SERVICE_PORT: "7420",
    HOLDFAST_SERVICE_PORT_GRPC: "7420",
    HOLDFAST_PORT_7420_TCP: "tcp://10.0.0.1:7420",
    HOLDFAST_PORT_7420_TCP_PROTO: "tcp",
    HOLDFAST_PORT_7420_TCP_PORT: "7420",
    HOLDFAST_PORT_7420_TCP_ADDR: "10.0.0.1",
    HOLDFAST_GATEWAY_SERVICE_HOST: "10.0.0.2",
    HOLDFAST_GATEWAY_SERVICE_PORT: "7420",
    HOLDFAST_GATEWAY_PORT: "tcp://10.0.0.2:7420",
    HOLDFAST_GATEWAY_PORT_7420_TCP: "tcp://10.0.0.2:7420",
    HOLDFAST_METRICS_PORT: "tcp://10.0.0.3:9464",
  };
  expect(readSettings(injected)).toEqual(readSettings({}));
});

describe("the printed settings", () => {
  it("are read back to the same settings", () => {
    const settings = readSettings({
      HOLDFAST_IDLE_TTL: "1500ms",
      HOLDFAST_MEMORY_BUDGET: "1536MiB",
      HOLDFAST_RUNNER_ADDRESS: "[::1]:7421",
      HOLDFAST_METRICS_PORT: "0",
      HOLDFAST_APPROVAL_TTL: "0",
    });
    const printed = describeSettings(settings).split("\n");
    expect(readSettings(Object.fromEntries(printed.map((line) => line.split(/=(.*)/s))))).toEqual(settings);
  });

  it("leave out the credentials of a URL", () => {
    const printed = describeSettings(
      readSettings({ HOLDFAST_NATS_URL: "nats://user:hunter2@a:4222,nats://token@b:4222" }),
    );
    expect(printed).toContain("HOLDFAST_NATS_URL=nats://[redacted]@a:4222,nats://[redacted]@b:4222");
    expect(printed).not.toContain("hunter2");
  });
});

describe("the reference table", () => {
  it("has one row for every setting, and no two settings share a name", () => {
    const rows = settingsTable().split("\n").slice(2);
    expect(rows.map((row) => row.split("|")[1]?.trim())).toEqual(settingNames());
    expect(new Set(settingNames()).size).toBe(Object.keys(SETTINGS).length);
  });

  it("shows defaults as an operator would write them", () => {
    expect(settingsTable()).toContain("| HOLDFAST_MEMORY_BUDGET | size | `75%` |");
    expect(settingsTable()).toContain("| HOLDFAST_TOKENS_FILE | path |  |");
  });
});
