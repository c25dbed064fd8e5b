import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Client, credentials, loadPackageDefinition, ServerCredentials, status } from "@grpc/grpc-js";
import { RunnerService, SessionService } from "@holdfast/proto";
import { service as healthService } from "grpc-health-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveSessions } from "./grpc.fixture.ts";
import { buildGrpcServer, listenGrpc, stopGrpc } from "./server.ts";

const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

function plainClient(address: string): Client {
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

/** One string field, one message: enough protobuf for the questions of a reflection client. */
function question(field: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2, text.length]), Buffer.from(text)]);
}
const FILE_CONTAINING_SYMBOL = 4;
const LIST_SERVICES = 7;

function ask(client: Client, asked: Buffer): Promise<Buffer> {
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest(REFLECTION, same, same);
    call.on("data", resolve);
    call.on("error", reject);
    call.write(asked);
    call.end();
  });
}

describe("a server", () => {
  test("tells a reflection client its services", async () => {
    const { address } = await serveSessions({});
    const answer = (await ask(plainClient(address), question(LIST_SERVICES, "*"))).toString("latin1");
    expect(answer).toContain("holdfast.v1.SessionService");
    expect(answer).toContain("grpc.health.v1.Health");
  });

  test("gives a reflection client descriptors of a service with everything they import", async () => {
    const { address } = await serveSessions({});
    const answer = await ask(plainClient(address), question(FILE_CONTAINING_SYMBOL, "holdfast.v1.SessionService"));
    const files = descriptors(answer).map(({ name }) => name);
    expect(files).toContain("holdfast/v1/session_service.proto");
    expect(files).toContain("google/protobuf/timestamp.proto");
  });

  test("is healthy when it says so, as a whole and by service", async () => {
    const { address, built } = await serveSessions({});
    const health = loadPackageDefinition({ Health: healthService as never });
    const HealthClient = health.Health as unknown as new (
      ...args: unknown[]
    ) => {
      check(request: { service: string }, done: (error: Error | null, reply: { status: string }) => void): void;
      close(): void;
    };
    const client = new HealthClient(address, credentials.createInsecure());
    onTestFinished(() => client.close());
    const check = (service: string) =>
      new Promise((resolve, reject) => {
        client.check({ service }, (error, reply) => (error ? reject(error) : resolve(reply.status)));
      });
    await expect(check("")).resolves.toBe("SERVING");
    await expect(check(SessionService.typeName)).resolves.toBe("SERVING");
    await expect(check(RunnerService.typeName)).rejects.toMatchObject({ code: status.NOT_FOUND });
    built.health.setServing(false);
    await expect(check("")).resolves.toBe("NOT_SERVING");
  });

  test("that cannot have its port says which", async () => {
    const { address } = await serveSessions({});
    const port = Number(address.split(":")[1]);
    const { server } = buildGrpcServer([]);
    onTestFinished(() => server.forceShutdown());
    const credentialsInsecure = ServerCredentials.createInsecure();
    await expect(listenGrpc(server, "127.0.0.1", port, credentialsInsecure)).rejects.toThrow(
      `cannot listen on ${address}`,
    );
  });

  test("lets calls finish when it stops", async () => {
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { client, built } = await serveSessions({
      getSession: async () => {
        begun.resolve();
        await go.promise;
        return { ok: {} };
      },
    });
    const call = client.rpc.getSession({});
    await begun.promise;
    const stopped = stopGrpc(built, new AbortController().signal);
    go.resolve();
    await expect(call).resolves.toBeDefined();
    client.close();
    await stopped;
  });

  test("cuts what does not finish within the bound", async () => {
    const begun = Promise.withResolvers<void>();
    const bound = new AbortController();
    const { client, built } = await serveSessions({
      async *watchSession(_request, call) {
        begun.resolve();
        await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
        yield {};
        return null;
      },
    });
    const first = client.rpc.watchSession({}).next();
    const cut = expect(first).rejects.toMatchObject({ code: expect.any(Number) });
    await begun.promise;
    const stopped = stopGrpc(built, bound.signal);
    bound.abort();
    await cut;
    await stopped;
  });
});

/** FileDescriptorProtos of a reflection answer: field 4 of the response, field 1 in it, repeated. */
function descriptors(answer: Buffer) {
  const [response] = fieldsOf(answer, 4);
  if (response === undefined) throw new Error("the answer holds no descriptors");
  return fieldsOf(response, 1).map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

/** Length-delimited fields of one number, in order. */
function fieldsOf(bytes: Buffer, wanted: number): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag, afterTag] = varint(bytes, at);
    if ((tag & 7) !== 2) {
      at = varint(bytes, afterTag)[1];
      continue;
    }
    const [length, start] = varint(bytes, afterTag);
    if (tag >> 3 === wanted) found.push(bytes.subarray(start, start + length));
    at = start + length;
  }
  return found;
}

function varint(bytes: Buffer, from: number): [number, number] {
  let value = 0;
  for (let at = from, shift = 0; ; at += 1, shift += 7) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at + 1];
  }
}
