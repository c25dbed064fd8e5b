// The contract's messages at the edge of a service: from a request to a plain value (validate), from what the record says to
// a message (messages), from a refusal to a status (refusals), and the servers and clients that carry them (grpc).

// The pool's words and the contract's enums, both ways.
export type { EnumTable } from "./enums/enum-table.ts";
export * from "./enums/error-reason.ts";
export * from "./enums/gate.ts";
export * from "./enums/request.ts";
export * from "./enums/turn.ts";
// Serving and calling.
export * from "./grpc/client.ts";
export { connectService } from "./grpc/connect.ts";
export { rpcEdge, rpcTracing } from "./grpc/edge.ts";
export type { Handler, Handlers, Reply, ReplyStream, RpcEdge, RpcFailure, ServedCall } from "./grpc/handlers.ts";
export type { Health } from "./grpc/health.ts";
export * from "./grpc/limits.ts";
export { bearerMetadata, bearerToken } from "./grpc/metadata.ts";
export * from "./grpc/server.ts";
export * from "./grpc/service.ts";
export * from "./grpc/tracing.ts";
// Records, gates, answers and events as messages; events as bodies of the log.
export * from "./messages/answer.ts";
export * from "./messages/content.ts";
export * from "./messages/error-detail.ts";
export * from "./messages/event.ts";
export { decodeEvent, EVENT_FORMAT, EventUnreadable, encodeEvent } from "./messages/event-body.ts";
export { ATTACHMENT_BYTES, fitEvent, RAW_BYTES } from "./messages/event-size.ts";
export * from "./messages/gate.ts";
export * from "./messages/reply.ts";
export * from "./messages/request-digest.ts";
export * from "./messages/route.ts";
export * from "./messages/session.ts";
// Refusals as statuses, on the way out and on the way in.
export { ERROR_DOMAIN, refusalCode } from "./refusals/details.ts";
export { INTERNAL_REASON, refusalOfException, TOO_LARGE_REASON } from "./refusals/exceptions.ts";
export { fromServiceError, isServiceError, toServiceError } from "./refusals/service-error.ts";
export { RETRY_AFTER_MS, STATUS_CODES } from "./refusals/status-code.ts";
// A request, checked, as a plain value; or the refusal that names all that is wrong with it.
export * from "./validate/approval-filter.ts";
export * from "./validate/cancel-turn.ts";
export * from "./validate/capabilities.ts";
export * from "./validate/close-session.ts";
export type { RequestedConfig } from "./validate/config.ts";
export * from "./validate/get-session.ts";
export type { PlainHistoryMessage } from "./validate/history.ts";
export * from "./validate/limits.ts";
export * from "./validate/list-approvals.ts";
export * from "./validate/list-sessions.ts";
export { decodePageToken, encodePageToken, type Page, type PageScope } from "./validate/page.ts";
export * from "./validate/respond-approval.ts";
export * from "./validate/run-turn.ts";
export type { SecretValue } from "./validate/secrets.ts";
export type { LimitRules } from "./validate/turn-limits.ts";
export type { Validated } from "./validate/violations.ts";
export * from "./validate/watch-session.ts";
