// One server stream, as an async generator (C2 in client.ts).
import type { DescMethod } from "@bufbuild/protobuf";
import { type ClientReadableStream, status } from "@grpc/grpc-js";
import type { CallOptions } from "./client.ts";
import { beginCall, grpcOptions, type Line, settleSpan } from "./client-call.ts";
import { encoder, methodPath } from "./definition.ts";

export async function* readStream<Message>(
  line: Line,
  method: DescMethod,
  decode: (bytes: Buffer) => Message,
  request: unknown,
  options: CallOptions,
): AsyncGenerator<Message, void, undefined> {
  options.signal?.throwIfAborted();
  const { metadata, span } = beginCall(line, method, options);
  const stream = line.client.makeServerStreamRequest(
    methodPath(method),
    encoder(method.input),
    decode,
    request,
    metadata,
    grpcOptions(options),
  );
  const reader = new StreamReader(stream);
  const cancel = () => stream.cancel();
  options.signal?.addEventListener("abort", cancel, { once: true });
  try {
    for (let message = await reader.next(); message !== END; message = await reader.next()) yield message;
    settleSpan(span, null);
  } catch (error) {
    settleSpan(span, error);
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", cancel);
    // The reader left. Both are no-ops for a stream that is over.
    span.settle(status.CANCELLED, null);
    stream.cancel();
  }
}

const END = Symbol("end");

/**
 * Pulls one message after the other. Listens from the beginning: an error event without a listener would end the process,
 * and grpc-js emits it whether or not somebody reads.
 */
class StreamReader<Message> {
  readonly #stream: ClientReadableStream<Message>;
  #failure: Error | null = null;
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(stream: ClientReadableStream<Message>) {
    this.#stream = stream;
    stream.on("error", (error: Error) => {
      this.#failure = error;
      this.#wake();
    });
    stream.on("end", () => {
      this.#ended = true;
      this.#wake();
    });
    stream.on("readable", () => this.#wake());
  }

  /** Messages that came before an error are given first. */
  async next(): Promise<Message | typeof END> {
    for (;;) {
      const message = this.#stream.read() as Message | null;
      if (message !== null) return message;
      if (this.#failure !== null) throw this.#failure;
      if (this.#ended) return END;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
