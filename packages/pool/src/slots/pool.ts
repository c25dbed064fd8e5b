// The pool of one runner: which sessions have a live process, what it is doing, and when it has to go. One pure step per
// thing that happens. The shell owns the processes, the clock, one timer and one lane per session; it calls `step`
// synchronously, swaps the session's record, begins the effects, and brings back what came of them as later inputs.
//
// Read in this order:
//   slot.ts        the five states of a slot
//   input.ts       what can happen            reply.ts       what a step answers, and the effects
//   state.ts       the pool's state           checkout.ts    a prompt wants a process: room.ts, warm.ts, fingerprint.ts
//   prompt.ts      its beginning and end      gates.ts       questions and answers
//   stop.ts        Stop                       endings.ts     exit, close, teardown
//   deadlines.ts   TTLs and limits            eviction.ts    the two steps for a waiting slot
//   memory.ts      measurements               drain.ts       shutting down           invariants.ts  what always holds
//
// A turn that parks and is answered:
//
//   lane             pool                                    record                    agent
//   checkout ----->  (none) -> starting   start ---------------------------------->    spawned, ACP session
//   started ------>  starting -> busy                        ready
//   prompt_started>  busy, prompt running ----------------------------------------->   session/prompt
//   gate_opened -->  busy -> waiting                         gate, parked              (asks)
//   answer ------->  looks: open                             admitted, sending
//   gate_consumed>   waiting -> busy, sending 1 ------------------------------------>  its option
//   answer_reported> sending 0                               applied                   (reports on the call)
//   prompt_settled>  busy -> idle                            ended                     (stops)
//   tick --------->  idle -> closing      end ----------------------------------->     tree ended
//   closed ------->  closing -> (none)                       released
//
// What a refused or ignored input leaves behind is the very state it met (P4). The invariants are in invariants.ts.
import { checkout, checkoutReturned } from "./checkout.ts";
import { tick } from "./deadlines.ts";
import { drain, drainFurther } from "./drain.ts";
import { close, closed, exited } from "./endings.ts";
import { evictionConfirmed, evictionRefused } from "./eviction.ts";
import { answer, answerHandedBack, answerReported, gateClosed, gateConsumed, gateOpened } from "./gates.ts";
import type { PoolInput } from "./input.ts";
import { measured } from "./memory.ts";
import { promptSettled, promptStarted, started, startFailed } from "./prompt.ts";
import type { PoolReply, Replies } from "./reply.ts";
import { announceRoom, withoutClaim } from "./room.ts";
import type { Tick } from "./slot.ts";
import { DONE, type Pool, type Step } from "./state.ts";
import { stop } from "./stop.ts";

/** `now` never goes back. The reply's type follows the input's kind. */
export function step<Input extends PoolInput>(pool: Pool, input: Input, now: Tick): Step<Replies[Input["kind"]]> {
  const decided = decide(pool, input, now);
  if (decided.state === pool) return decided as Step<Replies[Input["kind"]]>;
  const change = announceRoom(pool, drainFurther(decided, now));
  return { ...change, reply: decided.reply } as Step<Replies[Input["kind"]]>;
}

function decide(pool: Pool, input: PoolInput, now: Tick): Step<PoolReply> {
  switch (input.kind) {
    case "checkout":
      return checkout(pool, input, now);
    case "checkout_returned":
      return checkoutReturned(pool, input, now);
    case "wait_given_up":
      return { state: withoutClaim(pool, input.key), effects: [], reply: DONE };
    case "started":
      return started(pool, input, now);
    case "start_failed":
      return startFailed(pool, input, now);
    case "prompt_started":
      return promptStarted(pool, input);
    case "prompt_settled":
      return promptSettled(pool, input, now);
    case "stop":
      return stop(pool, input, now);
    case "gate_opened":
      return gateOpened(pool, input, now);
    case "answer":
      return answer(pool, input);
    case "gate_consumed":
      return gateConsumed(pool, input, now);
    case "gate_closed":
      return gateClosed(pool, input, now);
    case "answer_reported":
      return answerReported(pool, input, now);
    case "answer_handed_back":
      return answerHandedBack(pool, input, now);
    case "exited":
      return exited(pool, input, now);
    case "close":
      return close(pool, input, now);
    case "closed":
      return closed(pool, input);
    case "eviction_confirmed":
      return evictionConfirmed(pool, input, now);
    case "eviction_refused":
      return evictionRefused(pool, input, now);
    case "memory":
      return measured(pool, input, now);
    case "drain":
      return drain(pool, input.graceMs, now);
    case "tick":
      return tick(pool, now);
  }
}
