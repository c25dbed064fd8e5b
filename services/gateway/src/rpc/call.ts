// How an rpc is written: once, for both stacks. It gets the decoded request and whose call it is; it gives a reply, a
// refusal, or a stream of frames.
import { type Refusal, refusal, type SessionKey } from "@holdfast/pool";
import type { Reply } from "@holdfast/wire";
import type { Caller } from "../credentials/caller.ts";
import type { GatewayWorld } from "../world.ts";

export type Call = {
  readonly caller: Caller;
  /** Aborts when the client is gone, its deadline has passed, or the gateway stops. */
  readonly signal: AbortSignal;
  /** The caller's deadline in milliseconds since 1970; null when it set none. */
  readonly deadlineMs: number | null;
};

export type Unary<Request, Message> = (world: GatewayWorld, request: Request, call: Call) => Promise<Reply<Message>>;

/** One encoded response message. Those of all event streams have one encoding, `{ TurnEvent event = 1; }`. */
export type Frame = Uint8Array;
/** Ends with null (OK) or with the refusal that the stream's status tells. Ends soon after `call.signal` aborts. */
export type Frames = AsyncGenerator<Frame, Refusal | null, undefined>;

export type Streaming<Request> = (world: GatewayWorld, request: Request, call: Call) => Frames;

export function keyOf({ caller }: Call, sessionId: string): SessionKey {
  return { project: caller.project, sessionId };
}

/** An rpc of the contract that this version has not built. */
export function notBuilt(rpc: string): Refusal {
  return refusal("RPC_NOT_BUILT", `this server has not built ${rpc}`, "GetServerInfo tells what it has", { rpc });
}

/** A stream that ends before its last message. Nothing is lost: the log has every durable event. */
export function streamCut(
  sessionId: string,
  why: string,
  nextStep = "watch the session from the last number seen",
): Refusal {
  return refusal("STREAM_CUT", `session ${sessionId}: ${why}`, nextStep, { session_id: sessionId });
}
