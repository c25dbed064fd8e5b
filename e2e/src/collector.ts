// A receiver of OTLP over HTTP: keeps what services export, as the bytes they sent.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export class Collector {
  private readonly server: Server;
  private readonly received: Buffer[] = [];

  private constructor(server: Server) {
    this.server = server;
    server.on("request", (request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        this.received.push(Buffer.concat(pieces));
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
      });
    });
  }

  static async start(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return collector;
  }

  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Spans and metrics so far. Texts stand in them as they are. */
  get bytes(): Buffer {
    return Buffer.concat(this.received);
  }

  /** Each export by itself. */
  get exports(): readonly Buffer[] {
    return this.received;
  }

  async close(): Promise<void> {
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
