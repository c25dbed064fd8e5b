import { connect, type Socket } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Client, credentials, status } from "@grpc/grpc-js";
import { ErrorInfoSchema, SessionService } from "@holdfast/proto";
import { VERSION } from "@holdfast/runtime";
import { createRpcClient, isServiceError, MAX_REQUEST_BYTES, NO_TRACING } from "@holdfast/wire";
import { service as healthService } from "grpc-health-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type HeldClock, heldClock, passTime } from "../fixture/clock.ts";
import { gatewayFixture } from "../fixture/gateway.ts";
import { FIRST_BYTES_MS } from "./first-bytes.ts";
import { bindPort } from "./port.ts";

const RPC = "/holdfast.v1.SessionService";

/** A bare connection, what it got, and when it was closed. */
async function connection(port: number): Promise<{ socket: Socket; got: () => string; closed: Promise<void> }> {
  const socket = connect({ port, host: "127.0.0.1" });
  let got = "";
  socket.on("data", (chunk) => {
    got += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await new Promise((resolve) => socket.once("connect", resolve));
  onTestFinished(() => void socket.destroy());
  return { socket, got: () => got, closed };
}

describe("one port", () => {
  it("serves gRPC, gRPC-Web and Connect, binary and JSON", async () => {
    const { client, url } = await gatewayFixture();
    expect(await client.rpc.getServerInfo({})).toMatchObject({ version: VERSION });
    const transports = [
      createGrpcTransport({ baseUrl: url }),
      createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: url, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false }),
    ];
    for (const transport of transports) {
      expect(await createClient(SessionService, transport).getServerInfo({})).toMatchObject({ version: VERSION });
    }
  });

  it("answers what curl sends", async () => {
    const { url } = await gatewayFixture();
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}${RPC}/GetServerInfo`, { method: "POST", headers, body: "{}" });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ version: VERSION, capabilities: ["secrets"] });
    const refused = await fetch(`${url}${RPC}/GetSession`, { method: "POST", headers, body: '{"sessionId":"nobody"}' });
    expect(refused.status).toBe(404);
    const told = (await refused.json()) as { code: string; details: { type: string; value: string }[] };
    expect(told).toMatchObject({ code: "not_found", details: [{ type: "google.rpc.ErrorInfo" }] });
    const info = fromBinary(ErrorInfoSchema, Buffer.from(told.details[0]?.value ?? "", "base64"));
    expect(info).toMatchObject({ reason: "SESSION_UNKNOWN", domain: "holdfast", metadata: { session_id: "nobody" } });
  });

  it("tells a load balancer and a gRPC prober that it serves", async () => {
    const { url, address } = await gatewayFixture();
    const probe = await fetch(`${url}/healthz`);
    expect([probe.status, await probe.text()]).toEqual([200, "ok\n"]);
    expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
    const prober = new Client(address, credentials.createInsecure());
    onTestFinished(() => prober.close());
    const { path, requestSerialize, responseDeserialize } = healthService.Check as never as Check;
    const told = await new Promise((resolve, reject) =>
      prober.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { service: SessionService.typeName },
        (error, reply) => (error === null ? resolve(reply) : reject(error)),
      ),
    );
    expect(told).toMatchObject({ status: "SERVING" });
  });

  it("takes a request of 4 MiB and refuses a larger one on both stacks", async () => {
    const { client, url } = await gatewayFixture();
    const text = (bytes: number) => [{ block: { case: "text" as const, value: { text: "x".repeat(bytes) } } }];
    const web = createClient(SessionService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
    for (const rpcs of [client.rpc, web]) {
      const run = async (bytes: number) => {
        try {
          for await (const _ of rpcs.runTurn({ sessionId: "s", agent: "scripted", prompt: text(bytes) })) return "ran";
          return "ended";
        } catch (error) {
          return (error as { code: number; message: string }).code;
        }
      };
      // There is no runner: a request that is read is refused for that.
      expect(await run(MAX_REQUEST_BYTES - 1024)).toBe(status.RESOURCE_EXHAUSTED);
      const small = await client.rpc.getSession({ sessionId: "s" }).catch((error: unknown) => error);
      expect(isServiceError(small) && small.code).toBe(status.NOT_FOUND);
      expect(await run(MAX_REQUEST_BYTES + 1024)).toBe(status.RESOURCE_EXHAUSTED);
    }
  });
});

type Check = {
  readonly path: string;
  readonly requestSerialize: (message: unknown) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => unknown;
};

/** A port with nothing behind it but refusals. */
async function barePort(clock: HeldClock = heldClock()) {
  const times = { headersMs: 100, requestMs: 200, checkMs: 20 };
  const bound = await bindPort({ host: "127.0.0.1", port: 0, clock, times });
  onTestFinished(() => passTime(clock, bound.close(0)));
  const refused = { refusal: { reason: "RPC_NOT_BUILT", message: "no", nextStep: "no", metadata: {} } } as const;
  const handlers = new Proxy({}, { get: () => async () => refused }) as never;
  const edge = { tracing: NO_TRACING, newIncident: () => "", failed: () => undefined };
  return { bound, clock, serve: () => bound.serve(handlers, edge) };
}

describe("a connection", () => {
  it("may say what it speaks byte by byte", async () => {
    const { bound, serve } = await barePort();
    serve();
    const h2 = await connection(bound.port);
    for (const byte of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
      h2.socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // An empty SETTINGS frame; the server answers with its own.
    h2.socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    await vi.waitFor(() => expect(h2.got().length).toBeGreaterThan(9));
    const h1 = await connection(bound.port);
    for (const part of ["P", "R", "OPFIND /healthz HTTP/1.1\r\nhost: x\r\n\r\n"]) h1.socket.write(part);
    await vi.waitFor(() => expect(h1.got()).toContain("HTTP/1.1 404"));
  });

  it("that stays silent is closed", async () => {
    const { bound, clock, serve } = await barePort();
    serve();
    const { closed } = await connection(bound.port);
    await vi.waitFor(() => expect(clock.timers).toBe(1));
    await clock.advance(FIRST_BYTES_MS);
    await closed;
  });

  it("that does not finish its headers, or its request, is closed", async () => {
    const { bound, serve } = await barePort();
    serve();
    const headers = await connection(bound.port);
    headers.socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n");
    const body = await connection(bound.port);
    body.socket.write(
      `POST ${RPC}/GetSession HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
    );
    await Promise.all([headers.closed, body.closed]);
    expect(headers.got()).toContain("408");
  });

  it("that comes before the gateway serves waits, and is served", async () => {
    const { bound, serve } = await barePort();
    const early = await connection(bound.port);
    early.socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    serve();
    await vi.waitFor(() => expect(early.got()).toContain("200 OK"));
  });
});

describe("stopping", () => {
  it("ends streams with a status, and connections within the bound", async () => {
    const fixture = await gatewayFixture();
    const idle = await connection(fixture.gateway.port);
    idle.socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await vi.waitFor(() => expect(idle.got()).toContain("200 OK"));
    await passTime(fixture.clock, fixture.gateway.close());
    await idle.closed;
    const late = createRpcClient(SessionService, { address: fixture.address });
    onTestFinished(() => late.close());
    await expect(late.rpc.getServerInfo({})).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it("does not wait for a connection that has said nothing yet", async () => {
    const { bound, serve } = await barePort();
    serve();
    const silent = await connection(bound.port);
    const served = await connection(bound.port);
    served.socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await vi.waitFor(() => expect(served.got()).toContain("200 OK"));
    // No time passes here.
    await bound.close(1_000);
    await silent.closed;
  });

  it("says so when another process listens on its port, and takes nothing", async () => {
    const { gateway } = await gatewayFixture();
    const taken = bindPort({ host: "127.0.0.1", port: gateway.port, clock: heldClock() });
    await expect(taken).rejects.toThrow(/another process listens there; nothing was changed/);
  });
});
