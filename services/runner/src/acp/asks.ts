// The permission requests an agent holds open.
//
// A1  A request is answered at most once, in the step in which answer() is called: the response is in the pipe when it
//     returns (D9). The SDK is given the same response afterwards and finds it written.
// A2  A request that the agent took back, or whose connection is gone, is not open: answering it writes nothing.

import { RequestError, type RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { AskOutcome } from "./agent.ts";
import type { AgentStdin } from "./stdin.ts";

/** As the SDK hands it to a handler. */
export type IncomingRequest = { readonly requestId?: string | number | null; readonly signal: AbortSignal };

type OpenAsk = {
  readonly requestId: string | number;
  readonly response: PromiseWithResolvers<RequestPermissionResponse>;
};

export class OpenAsks {
  readonly #stdin: AgentStdin;
  readonly #open = new Map<string, OpenAsk>();

  constructor(stdin: AgentStdin) {
    this.#stdin = stdin;
  }

  /** The response for the SDK. `withdrawn` is called when the agent takes the request back while it is open. */
  open(
    askId: string,
    { requestId, signal }: IncomingRequest,
    withdrawn: () => void,
  ): Promise<RequestPermissionResponse> {
    if (requestId === undefined || requestId === null) throw new Error("a request without an id does not get here");
    const response = Promise.withResolvers<RequestPermissionResponse>();
    this.#open.set(askId, { requestId, response });
    signal.addEventListener("abort", () => {
      if (!this.#open.delete(askId)) return;
      response.reject(RequestError.requestCancelled());
      if (isWithdrawal(signal.reason)) withdrawn();
    });
    return response.promise;
  }

  answer(askId: string, outcome: AskOutcome): boolean {
    const ask = this.#open.get(askId);
    if (ask === undefined) return false;
    this.#open.delete(askId);
    const response = responseOf(outcome);
    const isWritten = this.#stdin.respond(ask.requestId, response);
    ask.response.resolve(response);
    return isWritten;
  }
}

function responseOf(outcome: AskOutcome): RequestPermissionResponse {
  if (outcome.kind === "cancelled") return { outcome: { outcome: "cancelled" } };
  return { outcome: { outcome: "selected", optionId: outcome.optionId } };
}

const REQUEST_CANCELLED = -32_800;

/** The SDK also aborts its requests when the connection closes; then nobody took anything back. */
function isWithdrawal(reason: unknown): boolean {
  return reason instanceof RequestError && reason.code === REQUEST_CANCELLED;
}
