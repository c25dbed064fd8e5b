import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { refusal } from "@holdfast/pool";
import { WatchSessionResponseSchema } from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import { fromServiceError, toServiceError } from "../refusals/service-error.ts";
import { serveSessions } from "./grpc.fixture.ts";

const message = (seq: number, json = "") =>
  ({ event: { seq: BigInt(seq), event: { case: "raw", value: { json } } } }) as const;
const seqs = async (stream: AsyncIterable<{ event?: { seq: bigint } | undefined }>) => {
  const found: number[] = [];
  for await (const { event } of stream) found.push(Number(event?.seq));
  return found;
};
const codeOf = (error: unknown) => (error as { code: number }).code;

describe("a server stream", () => {
  test("brings every message in order and ends", async () => {
    const { client } = await serveSessions({
      async *watchSession({ afterSeq }) {
        for (let seq = Number(afterSeq) + 1; seq <= 1_000; seq += 1) yield message(seq);
        return null;
      },
    });
    const found = await seqs(client.rpc.watchSession({ sessionId: "s", afterSeq: 10n }));
    expect(found).toHaveLength(990);
    expect(found[0]).toBe(11);
  });

  test("that ends with a refusal gives its messages first", async () => {
    const refused = refusal("CURSOR_EXPIRED", "Too old.", "Begin at 7.", { first_seq: "7" });
    const { client } = await serveSessions({
      async *watchSession() {
        yield message(1);
        yield message(2);
        return refused;
      },
    });
    const found: bigint[] = [];
    let error: unknown = null;
    try {
      for await (const { event } of client.rpc.watchSession({})) found.push(event?.seq ?? 0n);
    } catch (caught) {
      error = caught;
    }
    expect(found).toEqual([1n, 2n]);
    expect(codeOf(error)).toBe(status.OUT_OF_RANGE);
    expect(fromServiceError(error)).toEqual(refused);
  });

  test("whose handler throws ends INTERNAL; one that throws another server's refusal ends with that", async () => {
    const { client, failures } = await serveSessions({
      // biome-ignore lint/correctness/useYield: it fails before it says anything.
      async *watchSession() {
        throw new Error("boom");
      },
      // biome-ignore lint/correctness/useYield: it fails before it says anything.
      async *runTurn() {
        throw toServiceError(refusal("POOL_FULL", "No room.", "Later."));
      },
    });
    await expect(seqs(client.rpc.watchSession({}))).rejects.toMatchObject({ code: status.INTERNAL });
    await expect(seqs(client.rpc.runTurn({}))).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect(failures).toHaveLength(1);
  });

  test("asks its handler for no more than a slow reader takes", async () => {
    let made = 0;
    const json = "x".repeat(256 * 1024);
    const { client } = await serveSessions({
      async *watchSession() {
        for (;;) {
          made += 1;
          yield message(made, json);
        }
      },
    });
    const stream = client.rpc.watchSession({});
    for (let taken = 1; taken <= 120; taken += 1) {
      await stream.next();
      // What is between them: both buffers of 16 messages and HTTP/2's window.
      expect(made - taken).toBeLessThan(80);
    }
    await stream.return();
  });

  test("that its reader leaves is ended on the server, also while its handler waits", async () => {
    const ended = Promise.withResolvers<string>();
    const { client } = await serveSessions({
      async *watchSession(_request, call) {
        try {
          yield message(1);
          await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
          yield message(2);
          return null;
        } finally {
          ended.resolve("returned");
        }
      },
    });
    for await (const { event } of client.rpc.watchSession({})) {
      expect(event?.seq).toBe(1n);
      break;
    }
    await expect(ended.promise).resolves.toBe("returned");
  });

  test("is cancelled by its signal", async () => {
    const stop = new AbortController();
    const { client } = await serveSessions({
      async *watchSession(_request, call) {
        yield message(1);
        await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
        return null;
      },
    });
    const stream = client.rpc.watchSession({}, { signal: stop.signal });
    await stream.next();
    stop.abort();
    await expect(stream.next()).rejects.toMatchObject({ code: status.CANCELLED });
  });

  test("passes through a gateway as bytes, undecoded, and ends with the runner's refusal", async () => {
    const refused = refusal("STREAM_CUT", "Cut.", "Watch again.");
    const runner = await serveSessions({
      async *watchSession() {
        for (let seq = 1; seq <= 100; seq += 1) yield message(seq);
        return refused;
      },
    });
    const gateway = await serveSessions({
      async *watchSession(request, call) {
        yield toBinary(WatchSessionResponseSchema, create(WatchSessionResponseSchema, message(0)));
        for await (const bytes of runner.client.bytes.watchSession(request, { signal: call.signal })) {
          expect(fromBinary(WatchSessionResponseSchema, bytes).event?.event.case).toBe("raw");
          yield bytes;
        }
        return null;
      },
    });
    const found: number[] = [];
    await expect(async () => {
      for await (const { event } of gateway.client.rpc.watchSession({})) found.push(Number(event?.seq));
    }).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(found).toHaveLength(101);
    expect(gateway.failures).toEqual([]);
  });

  test("that nobody reads begins no call", async () => {
    let begun = 0;
    const { client } = await serveSessions({
      async *watchSession() {
        begun += 1;
        yield message(1);
        return null;
      },
    });
    const unread = client.rpc.watchSession({});
    await unread.return();
    expect(await seqs(client.rpc.watchSession({}))).toEqual([1]);
    expect(begun).toBe(1);
  });
});
