// RunTurn in the session's lane: a process is checked out, the turn is opened by one swap (with the claim, when nobody owns
// the session), and the prompt goes to the live process or a start begins.
//
//   checkout ── warm ──▶ open_turn ──▶ prompt
//            ── cold ──▶ open_turn ──▶ start ──▶ (start.ts) ready ──▶ prompt
//            ── wait ──▶ asked again when there is room, or when this session's old process is gone
//            ── refused
import {
  type Checkout,
  type CheckoutReply,
  type ColdReason,
  configFingerprint,
  type EvictionReason,
  keyReused,
  type OpenTurn,
  PREVIEW_CHARACTERS,
  type Refusal,
  type SessionConfig,
  type SessionRecord,
  type TurnLimits,
  turnOpen,
  type Writer,
} from "@holdfast/pool";
import type { ContentBlock } from "@holdfast/proto";
import type { Route } from "@holdfast/wire";
import type { AgentEntry } from "../catalogue/catalogue.ts";
import { isDoneWithin } from "../process/index.ts";
import { agentUnknown, fieldInvalid, notHereAnyMore, secretsMissing } from "../refusals.ts";
import { takeAuthority } from "./authority.ts";
import type { SessionHost } from "./host.ts";
import { closeSlot } from "./loss.ts";
import type { CheckoutOutcome } from "./observer.ts";
import { sendPrompt } from "./prompt.ts";
import { digestSecrets, expired, type Secrets } from "./secrets.ts";
import { beginStart } from "./start.ts";

/** How long a live process may take to change its model or mode. */
const APPLY_BOUND_MS = 5_000;

/** A prompt as the lane takes it: checked. null: as the session had it, or the server's default. */
export type TurnRequest = {
  readonly requestId: string | null;
  readonly contentDigest: string;
  readonly agent: string | null;
  readonly prompt: readonly ContentBlock[];
  /** The prompt's text, for the record's preview. */
  readonly text: string;
  /** There is more in the prompt than text. */
  readonly hasAttachments: boolean;
  readonly config: Omit<SessionConfig, "limits"> | null;
  readonly limits: TurnLimits;
  readonly secrets: Secrets;
  readonly labels: Readonly<Record<string, string>>;
  readonly onDisconnect: "detach" | "cancel";
};

export type TurnBegun =
  | { readonly kind: "follow"; readonly turnId: string; readonly afterSeq: number }
  | { readonly kind: "wait" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export async function beginTurn(host: SessionHost, request: TurnRequest, route: Route): Promise<TurnBegun> {
  const authority = await takeAuthority(host, route);
  if (authority.kind === "refused") return authority;
  if (host.epoch !== null) await host.refresh();
  const record = host.held?.record ?? null;
  const attached = attachTo(host, record, request);
  if (attached !== null) return attached;
  // The pool would refuse it, too; the record knows the turn and its gates.
  if (host.epoch !== null && record?.turn?.ending === null) return refuse(turnOpen(record));
  const name = request.agent ?? record?.agent ?? null;
  if (name === null) return refuse(fieldInvalid(host.key, "agent", "is required on a session's first turn"));
  const entry = host.world.catalogue.find(name);
  if (entry === null) return refuse(agentUnknown(host.key, name, host.world.catalogue.names));
  const config = effectiveConfig(host, record, request);
  const unfit = unfitConfig(host, entry, config, request.secrets);
  if (unfit !== null) return refuse(unfit);
  const prepared = { host, request, entry, config, by: authority.by, principal: route.principal };
  const { begun } = await host.observer.checkout(entry.name, "prompt", () => checkOut(prepared));
  return begun;
}

/** D15: a retry of a prompt whose turn is known here follows that turn. */
function attachTo(host: SessionHost, record: SessionRecord | null, request: TurnRequest): TurnBegun | null {
  const mark = record?.requests.find(({ requestId }) => requestId === request.requestId);
  if (host.epoch === null || mark === undefined) return null;
  if (mark.contentDigest !== request.contentDigest) return refuse(keyReused(host.key.sessionId, mark.requestId));
  return { kind: "follow", turnId: mark.turnId, afterSeq: mark.afterSeq };
}

function effectiveConfig(host: SessionHost, record: SessionRecord | null, request: TurnRequest): SessionConfig {
  const defaults = host.world.defaultConfig;
  return { ...(record?.config ?? defaults), ...request.config, limits: request.limits };
}

/** What this agent cannot be started with is refused before anything is written. */
function unfitConfig(host: SessionHost, entry: AgentEntry, config: SessionConfig, secrets: Secrets): Refusal | null {
  if (!entry.mayWorkIn(host.key, entry.directoryOf(host.key, config.workingDirectory))) {
    return fieldInvalid(
      host.key,
      "config.working_directory",
      `is below no directory that agent ${entry.name} may work in`,
    );
  }
  if (config.systemPrompt !== "" && !entry.takesSystemPrompt) {
    return fieldInvalid(host.key, "config.system_prompt", `agent ${entry.name} takes none`);
  }
  const missing = entry.missingSecrets(config, secrets);
  return missing.length > 0 ? secretsMissing(host.key, missing) : null;
}

type Prepared = {
  readonly host: SessionHost;
  readonly request: TurnRequest;
  readonly entry: AgentEntry;
  readonly config: SessionConfig;
  readonly by: Writer;
  readonly principal: string;
};
type CheckedOut = { readonly begun: TurnBegun; readonly seen: CheckoutOutcome };

async function checkOut(prepared: Prepared): Promise<CheckedOut> {
  const { host, config, entry } = prepared;
  const directory = entry.directoryOf(host.key, config.workingDirectory);
  const workspace = host.live === null || (await entry.isUsable(directory)) ? "there" : "lost";
  const afterSeq = host.teller.last ?? (await host.world.store.log.tail(host.key)).last;
  const reply = host.world.pool.step(checkoutOf(prepared, directory, workspace));
  if (reply.kind === "refused") return refusedBy(reply.refusal);
  if (reply.kind === "wait") return { begun: reply, seen: { kind: "waits" } };
  return openAndGo(prepared, { directory, afterSeq }, reply);
}

function checkoutOf(prepared: Prepared, directory: string, workspace: Checkout["workspace"]): Checkout {
  const { host, entry, config, request } = prepared;
  return {
    kind: "checkout",
    key: host.slot,
    instance: host.world.newId("instance"),
    agent: entry.name,
    canLoad: entry.load,
    limits: config.limits,
    config: configFingerprint(entry.name, config, directory),
    history: null,
    credentials: credentialsOf(host, request.secrets),
    workspace,
    mustBeNew: host.epoch === null,
  };
}

async function openAndGo(
  prepared: Prepared,
  { directory, afterSeq }: { readonly directory: string; readonly afterSeq: number },
  reply: Exclude<CheckoutReply, { kind: "refused" | "wait" }>,
): Promise<CheckedOut> {
  const { host, request, entry, config } = prepared;
  const coldReason = reply.kind === "warm" ? null : reply.reason;
  const opened = await openOrReturn(prepared, openTurn(prepared, afterSeq, coldReason), reply.instance);
  if (opened.kind === "refused" || opened.result.kind !== "opened") {
    host.world.pool.step({ kind: "checkout_returned", key: host.slot, instance: reply.instance });
    return opened.kind === "refused" ? refusedBy(opened.refusal) : refusedBy(notHereAnyMore(host.key));
  }
  const { turnId, execution } = opened.result;
  const again = reply.kind === "warm" ? (reason: EvictionReason) => beginAgain(prepared, directory, reason) : null;
  host.turn = { turnId, execution, prompt: request.prompt, again };
  host.agentName = entry.name;
  host.directory = directory;
  const traceparent = host.observer.beginExecution(turnId, execution);
  const begun: TurnBegun = { kind: "follow", turnId, afterSeq };
  if (reply.kind === "warm") {
    if (await isApplied(host, reply)) sendPrompt(host, request.prompt);
    else closeSlot(host, reply.instance, "config_changed");
    return { begun, seen: { kind: "warm" } };
  }
  const reason = opened.result.coldReason;
  const { secrets } = request;
  beginStart(host, { instance: reply.instance, entry, config, directory, secrets, coldReason: reason, traceparent });
  return { begun, seen: { kind: "cold", reason } };
}

/** The turn is open and its process failed before it showed anything (A18): a new one takes the same prompt. */
function beginAgain(prepared: Prepared, directory: string, reason: EvictionReason): boolean {
  const { host, entry, config } = prepared;
  const { turn } = host;
  const reply = host.world.pool.step(checkoutOf(prepared, directory, "there"));
  if (turn === null || reply.kind !== "cold") {
    host.world.pool.step({ kind: "wait_given_up", key: host.slot });
    return false;
  }
  const { instance } = reply;
  const traceparent = host.observer.beginExecution(turn.turnId, turn.execution);
  beginStart(host, { instance, entry, config, directory, secrets: host.secrets, coldReason: reason, traceparent });
  return true;
}

/** Whatever fails before the prompt gives the checkout back (A1). */
async function openOrReturn({ host, request, by }: Prepared, command: OpenTurn, instance: string) {
  host.opening = { turnId: command.turnId, prompt: request.prompt };
  try {
    return await host.change(command, by);
  } catch (error) {
    // A claim that is in the record and could not be taken over is settled by the next one who asks (authority.ts).
    host.world.pool.step({ kind: "checkout_returned", key: host.slot, instance });
    throw error;
  } finally {
    host.opening = null;
  }
}

function openTurn(
  { host, request, entry, config, principal }: Prepared,
  afterSeq: number,
  poolReason: ColdReason | null,
): OpenTurn {
  return {
    type: "open_turn",
    project: host.key.project,
    sessionId: host.key.sessionId,
    turnId: host.world.newId("turn"),
    requestId: request.requestId,
    contentDigest: request.contentDigest,
    afterSeq,
    agent: entry.name,
    config,
    secretNames: [...request.secrets.keys()],
    labels: request.labels,
    promptPreview: request.text.slice(0, PREVIEW_CHARACTERS),
    promptTruncated: request.text.length > PREVIEW_CHARACTERS || request.hasAttachments,
    principal,
    onDisconnect: request.onDisconnect,
    warm: poolReason === null,
    // The pool knows best why its own process went; of a session it never had, the record knows.
    coldReason: poolReason === "first_turn" ? null : poolReason,
  };
}

/** Model or mode of the live process (A13). What it refuses, or does not answer in time, begins again on another one. */
async function isApplied(
  { live, world }: SessionHost,
  { apply }: Extract<CheckoutReply, { kind: "warm" }>,
): Promise<boolean> {
  if (apply.model === null && apply.mode === null) return true;
  if (live === null) return false;
  let isTaken = false;
  const change = live.agent.change(apply).then((taken) => {
    isTaken = taken;
  });
  return (await isDoneWithin(change, APPLY_BOUND_MS, world.clock)) && isTaken;
}

function credentialsOf(host: SessionHost, secrets: Secrets): "same" | "changed" | "expired" {
  if (host.live === null) return "same";
  if (secrets.size > 0 && digestSecrets(secrets) !== digestSecrets(host.secrets)) return "changed";
  return expired(host.secrets, host.world.clock.now()) ? "expired" : "same";
}

function refuse(refusal: Refusal): TurnBegun {
  return { kind: "refused", refusal };
}

function refusedBy(refusal: Refusal): CheckedOut {
  return { begun: refuse(refusal), seen: { kind: "refused", reason: refusal.reason } };
}
