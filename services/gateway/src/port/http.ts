// HTTP/1.1: Connect (JSON or binary) and gRPC-Web for browsers and curl, and /healthz for a load balancer.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { MAX_REQUEST_BYTES } from "@holdfast/wire";

/** How long a client may take to send its headers, and its whole request. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
/** How often that is looked at. */
const CHECK_MS = 1_000;
const HEADER_BYTES = 32 * 1024;
/** The longest time a caller of an rpc may ask for over Connect. */
const CALL_MAX_MS = 24 * 60 * 60 * 1_000;

export type HttpTimes = { readonly headersMs: number; readonly requestMs: number; readonly checkMs: number };
const TIMES: HttpTimes = { headersMs: HEADERS_MS, requestMs: REQUEST_MS, checkMs: CHECK_MS };

/** Serves nothing yet. */
export function httpServer(times: HttpTimes = TIMES): Server {
  return createServer({
    headersTimeout: times.headersMs,
    requestTimeout: times.requestMs,
    connectionsCheckingInterval: times.checkMs,
    maxHeaderSize: HEADER_BYTES,
  });
}

export function serveConnect(http: Server, routes: (router: ConnectRouter) => void, isServing: () => boolean): void {
  const rpcs = connectNodeAdapter({
    routes,
    // gRPC proper needs HTTP/2, which another server serves.
    grpc: false,
    readMaxBytes: MAX_REQUEST_BYTES,
    maxTimeoutMs: CALL_MAX_MS,
    fallback: (request, response) => other(request as IncomingMessage, response as ServerResponse, isServing()),
  });
  http.on("request", rpcs as RequestListener);
}

function other({ url, method }: IncomingMessage, response: ServerResponse, isServing: boolean): void {
  const isProbe = url === "/healthz" && (method === "GET" || method === "HEAD");
  const [code, text] = isProbe ? (isServing ? [200, "ok"] : [503, "stopping"]) : [404, "not found"];
  response.writeHead(code, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}
