// The scrape port: GET /metrics in Prometheus' text format, and nothing else.
//
// The exporter's own server can neither take a free port nor say that a port is taken, so the server is ours.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import type { IMetricReader } from "@opentelemetry/sdk-metrics";

export interface ScrapePort {
  readonly reader: IMetricReader;
  readonly port: number;
  close(): Promise<void>;
}

const SCRAPE_TIMEOUT_MS = 10_000;
const NOT_FOUND = 404;

/** Listens before it returns; rejects, naming the address, when it cannot. */
export async function openScrapePort(host: string, port: number): Promise<ScrapePort> {
  const reader = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true });
  const server = createServer({ requestTimeout: SCRAPE_TIMEOUT_MS }, (request, response) => {
    const isScrape =
      request.url?.split("?")[0] === "/metrics" && (request.method === "GET" || request.method === "HEAD");
    if (isScrape) reader.getMetricsRequestHandler(request, response);
    else response.writeHead(NOT_FOUND).end();
  });
  await listening(server, host, port);
  return {
    reader,
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (error) {
    throw new Error(`metrics cannot be served on ${host} port ${port}: ${(error as Error).message}`, { cause: error });
  }
}
