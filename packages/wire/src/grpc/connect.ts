// The same handlers behind Connect (JSON over HTTP/1.1 and gRPC-Web): what `ConnectRouter.service` takes.
//
// Set `readMaxBytes` to MAX_REQUEST_BYTES where the routes are mounted: Connect has no limit of its own.
import { type DescMethod, type DescService, fromBinary } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { status } from "@grpc/grpc-js";
import { statusConnectError } from "../refusals/connect-error.ts";
import {
  type AnyHandlers,
  type Ending,
  type Handlers,
  type Reply,
  type ReplyStream,
  type RpcEdge,
  refusedEnding,
  rpcName,
  type ServedCall,
  settledCode,
  thrownEnding,
} from "./handlers.ts";
import type { RpcSpan, TraceCarrier } from "./tracing.ts";

/** `nowMs`: Connect tells how long a call may still take, handlers want a moment. */
export function connectService<Desc extends DescService>(
  desc: Desc,
  handlers: Handlers<Desc>,
  edge: RpcEdge,
  nowMs: () => number,
): Partial<ServiceImpl<Desc>> {
  const untyped = handlers as unknown as AnyHandlers;
  const served = desc.methods.map((method) => {
    const handler = untyped[method.localName];
    if (handler === undefined) throw new Error(`${desc.typeName}/${method.name} has no handler`);
    const call = (context: HandlerContext) => servedCall(method, context, nowMs);
    const serve =
      method.methodKind === "unary"
        ? (request: unknown, context: HandlerContext) =>
            serveUnary(method, () => handler(request, call(context)) as Promise<Reply<unknown>>, context, edge)
        : (request: unknown, context: HandlerContext) =>
            serveStream(method, () => handler(request, call(context)) as ReplyStream<unknown>, context, edge);
    return [method.localName, serve];
  });
  return Object.fromEntries(served) as Partial<ServiceImpl<Desc>>;
}

function serveUnary(method: DescMethod, run: () => Promise<Reply<unknown>>, context: HandlerContext, edge: RpcEdge) {
  return edge.tracing.serve(rpcName(method), carrier(context), async (span) => {
    const reply = await attempt(method, run, edge);
    if ("ending" in reply) return end(span, reply.ending);
    if ("refusal" in reply.value) return end(span, refusedEnding(reply.value.refusal));
    end(span, null);
    return reply.value.ok;
  });
}

/** Connect forgets a generator whose caller left, so its end is brought about by the signal as well as by the last message. */
async function* serveStream(
  method: DescMethod,
  run: () => ReplyStream<unknown>,
  context: HandlerContext,
  edge: RpcEdge,
) {
  const { span, close } = await openSpan(method, context, edge);
  const replies = span.run(run);
  let over = false;
  const finish = async (code: status, reason: string | null) => {
    if (over) return;
    over = true;
    context.signal.removeEventListener("abort", left);
    await attempt(method, () => replies.return(null), edge);
    span.settle(code, reason);
    close();
  };
  const left = () => void finish(status.CANCELLED, null);
  context.signal.addEventListener("abort", left);
  if (context.signal.aborted) left();
  let ending: Ending | null = null;
  try {
    for (;;) {
      const next = await attempt(method, () => span.run(() => replies.next()), edge);
      ending = endingOf(next);
      if ("ending" in next || next.value.done === true) break;
      const message = next.value.value;
      yield message instanceof Uint8Array ? fromBinary(method.output, message) : message;
    }
  } finally {
    await finish(settledCode(ending), ending?.reason ?? null);
  }
  if (ending !== null) throw statusConnectError(ending.status);
}

function endingOf(next: Attempt<Awaited<ReturnType<ReplyStream<unknown>["next"]>>>): Ending | null {
  if ("ending" in next) return next.ending;
  return next.value.done === true && next.value.value ? refusedEnding(next.value.value) : null;
}

type Attempt<T> = { readonly value: T } | { readonly ending: Ending };

async function attempt<T>(method: DescMethod, run: () => Promise<T>, edge: RpcEdge): Promise<Attempt<T>> {
  try {
    return { value: await run() };
  } catch (error) {
    return { ending: thrownEnding(edge, `${method.parent.name}/${method.name}`, error) };
  }
}

function end(span: RpcSpan, ending: Ending | null): void {
  span.settle(settledCode(ending), ending?.reason ?? null);
  if (ending !== null) throw statusConnectError(ending.status);
}

/** A span that stays open until `close`. */
function openSpan(method: DescMethod, context: HandlerContext, edge: RpcEdge) {
  return new Promise<{ span: RpcSpan; close: () => void }>((resolve, reject) => {
    const served = edge.tracing.serve(
      rpcName(method),
      carrier(context),
      (span) => new Promise<void>((close) => resolve({ span, close })),
    );
    served.catch(reject);
  });
}

function servedCall(method: DescMethod, context: HandlerContext, nowMs: () => number): ServedCall {
  const leftMs = context.timeoutMs();
  return {
    rpc: `${method.parent.name}/${method.name}`,
    signal: context.signal,
    deadlineMs: leftMs === undefined ? null : nowMs() + leftMs,
    header: (name) => context.requestHeader.get(name),
  };
}

function carrier(context: HandlerContext): TraceCarrier {
  return {
    get: (key) => context.requestHeader.get(key) ?? undefined,
    set: (key, value) => context.responseHeader.set(key, value),
  };
}
