import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DescMessage, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import {
  ErrorReason,
  FallReason,
  GetSessionResponseSchema,
  ListApprovalsResponseSchema,
  ListSessionsResponseSchema,
  Outcome,
  type TurnEvent,
  TurnEventSchema,
} from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, refusalOf } from "./src/caller.ts";
import { light, scripted } from "./src/catalogue.ts";
import { Collector } from "./src/collector.ts";
import { commandLines, environmentOf } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

const REDACTED = "[redacted]";
/** Looks like nothing in particular, and has to be escaped in JSON and in a URL. */
const newValue = () => `plain "${randomBytes(12).toString("hex")}" \\ ü`;
const literal = (value: string) => ({ value: { case: "literal" as const, value } });
const named = (value: string) => ({ value: { case: "secretName" as const, value } });

/** A config with one MCP server that is given a secret. */
function withServer(secretName: string) {
  const value = {
    command: "sleep",
    args: ["600"],
    env: { TOOL_TOKEN: named(secretName), TOOL_PLACE: literal("here") },
  };
  return { mcpServers: [{ name: "tools", transport: { case: "stdio" as const, value } }] };
}

/** As a secret may look wherever it has got to. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const middle = /[0-9a-f]{24}/.exec(secret)?.[0] ?? secret;
  return [secret, middle, bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
}

function expectNone(secrets: readonly string[], where: string, haystack: Buffer | string): void {
  const bytes = Buffer.from(haystack);
  const found = secrets.flatMap(formsOf).filter((form) => bytes.includes(form));
  expect(found, where).toEqual([]);
}

describe("secrets", () => {
  let files: string;
  let stack: Stack;
  let collector: Collector;
  let caller: Caller;
  const fromFile = newValue();
  const fromCaller = newValue();
  const secrets = [fromFile, fromCaller];
  const streamed: TurnEvent[] = [];

  beforeAll(async () => {
    files = mkdtempSync(join(tmpdir(), "holdfast-e2e-secrets-"));
    writeFileSync(join(files, "key"), `${fromFile}\n`);
    const own = { secrets: { KEY: { file: join(files, "key"), env: "TELL_KEY" } } };
    collector = await Collector.start();
    stack = await Stack.start({
      settings: { HOLDFAST_LOG_LEVEL: "debug", OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
      agents: [
        { ...scripted("scripted"), ...own },
        { ...light("light"), ...own },
        { ...light("exits", "--at", "spawn:exit"), ...own },
        { ...light("refuses", "--at", "session/new:refuse"), ...own },
        { ...light("keyless"), secrets: { KEY: { file: join(files, "none"), env: "TELL_KEY" } } },
      ],
    });
    caller = stack.caller();
  });
  afterAll(async () => {
    await stack.close();
    await collector.close();
    rmSync(files, { recursive: true });
  });

  it("11: a changed or missing secret never matters for an answer", async () => {
    const rotating = join(files, "key");
    const parked = await caller.turn("rotated", "run echo one\nrun echo two", {
      secrets: { TOKEN: { value: fromCaller } },
    });
    const { pid } = await caller.session("rotated");
    writeFileSync(rotating, "another");
    await caller.answer("rotated", parked.gateId, { secrets: { TOKEN: { value: "yet another" } } });
    const again = await caller.watchUntil("rotated", 0, ({ event }) => {
      return event.case === "gateOpened" && event.value.gate?.gateId !== parked.gateId;
    });
    rmSync(rotating);
    await caller.allow("rotated", again.gateIds[1] ?? "");
    const ended = await caller.ended("rotated", parked.turnId);
    writeFileSync(rotating, `${fromFile}\n`);
    expect(ended.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(ended.of("started")).toHaveLength(1);
    expect(stack.ledger("rotated").map((ran) => ran.pid)).toEqual([Number(pid), Number(pid)]);
  });

  it("11: a changed secret: credentials_changed on a new prompt; an expired one: credentials_expired", async () => {
    const soon = BigInt(Math.ceil(Date.now() / 1_000) + 3);
    await caller.turn("prompted", "say one", { secrets: { TOKEN: { value: fromCaller } } });
    const secretsNow = { TOKEN: { value: "another", expiresAt: { seconds: soon, nanos: 0 } } };
    const changed = await caller.turn("prompted", "say two", { secrets: secretsNow });
    expect(changed.one("started").coldReason).toBe(FallReason.CREDENTIALS_CHANGED);
    await eventually("it has expired", () => BigInt(Date.now()) > soon * 1_000n);
    const expired = await caller.turn("prompted", "say three");
    expect(expired.one("started").coldReason).toBe(FallReason.CREDENTIALS_EXPIRED);
  });

  it("12: no secret value appears in the process list or an inbox while an agent and its MCP server have it", async () => {
    const parked = await turn("served", "light", "ask");
    const holders = stack.agentsOf("served");
    expect(holders).toHaveLength(2);
    const environments = holders.flatMap(environmentOf);
    expect(environments).toContain(`TELL_KEY=${fromFile}`);
    expect(environments).toContain(`TOOL_TOKEN=${fromCaller}`);
    expectNone(secrets, "process list", commandLines().join("\n"));
    expectNone(secrets, "approvals", await inbox());
    await caller.answer("served", parked.gateId, { secrets: { TOKEN: { value: fromCaller } } });
    await caller.ended("served", parked.turnId);
  });

  it("12: no secret value appears in what an agent says, asks and reports, also when it says it in two pieces", async () => {
    const asked = await caller.turn("told", "env TELL_KEY\nrun printenv TELL_KEY");
    await caller.allow("told", asked.gateId);
    const told = await caller.ended("told", asked.turnId);
    expect(told.text).toContain(`TELL_KEY=${REDACTED}`);
    expect(stack.ledger("told")).toMatchObject([{ command: "printenv TELL_KEY" }]);
    const split = await turn("split", "light", "tell");
    expect((await caller.ended("split", split.turnId)).text).toContain(`TELL_KEY is ${REDACTED}`);
    streamed.push(...asked.events, ...told.events);
  });

  it("12: no secret value appears in an error, whatever step of the agent's fails and tells it", async () => {
    const failures = [
      await turn("exits", "exits", "any"),
      await turn("refuses", "refuses", "any"),
      await turn("died", "light", "die"),
      await turn("refused", "light", "refuse"),
    ].map((seen) => seen.one("ended").error);
    for (const failure of failures) expect(failure?.message).toContain(`TELL_KEY is ${REDACTED}`);
    const [exits] = failures;
    expect(exits).toMatchObject({ reason: ErrorReason.AGENT_START_FAILED });
    expect(exits?.message).toContain("light agent: gives up");
    const keyless = (await turn("keyless", "keyless", "any")).one("ended").error;
    expect(keyless).toMatchObject({ reason: ErrorReason.AGENT_START_FAILED });
    expect(keyless?.message).toContain("KEY");
    expectNone(secrets, "refusals", await refusals());
  });

  it("12: no secret value appears in any event, record, log or span of all that", async () => {
    expectNone(secrets, "streams", eventsText(streamed));
    const ids = ["served", "told", "split", "exits", "refuses", "died", "refused", "keyless"];
    expectNone(secrets, "watched", await watched(ids));
    expectNone(secrets, "sessions", await sessions());
    // What is exported and written last is there at the end.
    await Promise.all([...stack.runners, ...stack.gateways].map((service) => service.end()));
    for (const { name, log } of [...stack.runners, ...stack.gateways]) {
      expect(log, name).toContain('"event":"closed"');
      expectNone(secrets, `log of ${name}`, log);
    }
    expect(stack.runner.log).toContain('"session":"refused"');
    const { bytes } = collector;
    for (const span of ["holdfast.session.checkout", "holdfast.approval.answer", "invoke_agent", "served"]) {
      expect(bytes.includes(span), span).toBe(true);
    }
    expectNone(secrets, "telemetry", bytes);
    // What an agent writes into its own directory is its own.
    const kept = filesBelow(stack.directory).filter(({ path }) => !path.startsWith(stack.workOf("told")));
    expect(kept.find(({ path }) => path.endsWith("holdfast.db"))?.bytes.includes("served")).toBe(true);
    for (const file of kept) expectNone(secrets, file.path, file.bytes);
  });

  /** A turn of an agent that has a secret of its own, and an MCP server with one of its caller's. */
  async function turn(sessionId: string, agent: string, prompt: string) {
    const sent = { agent, config: withServer("TOKEN"), secrets: { TOKEN: { value: fromCaller } } };
    const seen = await caller.turn(sessionId, prompt, sent);
    streamed.push(...seen.events);
    return seen;
  }

  /** Calls that carry a secret and are refused for something else. */
  async function refusals(): Promise<string> {
    const token = { TOKEN: { value: fromCaller } };
    const calls = [
      caller.turn("served", "say", { agent: "no such agent", secrets: token }),
      caller.turn("served", "say", { secrets: { "no name": { value: fromCaller } } }),
      caller.turn("served", "say", { secrets: { TOKEN: { value: `${fromCaller}\0` } } }),
      caller.turn("served", "say", { config: withServer("OTHER"), secrets: token }),
      caller.turn("served", "say", { config: literalCredential(), secrets: token }),
      caller.answer("served", "gate_none", { secrets: token }),
      caller.answer("served", "gate_none", { secrets: { "no name": { value: fromCaller } } }),
    ];
    return JSON.stringify(await Promise.all(calls.map(refusalOf)));
  }

  function literalCredential() {
    const value = { command: "true", args: [`--token=${fromCaller}`], env: { API_KEY: literal(fromCaller) } };
    return { mcpServers: [{ name: "tools", transport: { case: "stdio" as const, value } }] };
  }

  async function watched(sessionIds: readonly string[]): Promise<string> {
    const all = await Promise.all(
      sessionIds.map((sessionId) => caller.watchUntil(sessionId, 0, ({ event }) => event.case === "ended")),
    );
    return all.map(({ events }) => eventsText(events)).join("\n");
  }

  async function inbox(): Promise<string> {
    return written(ListApprovalsResponseSchema, await caller.api.listApprovals({}, caller.options()));
  }

  async function sessions(): Promise<string> {
    const all = await caller.api.listSessions({}, caller.options());
    const each = await Promise.all(
      all.sessions.map(async ({ sessionId }) => {
        return written(GetSessionResponseSchema, await caller.api.getSession({ sessionId }, caller.options()));
      }),
    );
    return [written(ListSessionsResponseSchema, all), ...each].join("\n");
  }
});

function written<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  return toJsonString(schema, message);
}

function eventsText(events: readonly TurnEvent[]): string {
  return events.map((event) => toJsonString(TurnEventSchema, event)).join("\n");
}

function filesBelow(directory: string): readonly { readonly path: string; readonly bytes: Buffer }[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({ path, bytes: readFileSync(path) }));
}
