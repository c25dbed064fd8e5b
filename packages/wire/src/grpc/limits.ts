// Limits and timings of the RPC edge. The unit is the last word of the name.

/** One request of a caller. */
export const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
/** The same request on its way to a runner, with its route around it. */
export const MAX_ROUTED_REQUEST_BYTES = MAX_REQUEST_BYTES + 64 * 1024;
/**
 * What grpc-js lets in at all. Between this and MAX_REQUEST_BYTES a request is answered MESSAGE_TOO_LARGE with details; above
 * it grpc-js itself answers RESOURCE_EXHAUSTED, while the bytes still come in.
 */
export const MAX_RECEIVED_BYTES = 2 * MAX_REQUEST_BYTES;
/** One response: GetSession may carry 32 whole calls of 512 KiB. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/**
 * Pings on a connection, with calls or without: a dead peer is found, and proxies see life. Never below 30 s, or peers say
 * GOAWAY.
 */
export const KEEPALIVE_MS = 30_000;
export const KEEPALIVE_TIMEOUT_MS = 10_000;
/** Spacing of reconnects. */
export const RECONNECT_MIN_MS = 100;
export const RECONNECT_MAX_MS = 2_000;
