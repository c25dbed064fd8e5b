// The workspace's table of contents: everything generated from holdfast/v1, the google.rpc details that our errors carry, and
// the health service.

export * from "./gen/google/rpc/error_details_pb.ts";
export * from "./gen/google/rpc/status_pb.ts";
export { Health as HealthService } from "./gen/health/v1/health_pb.ts";
export * from "./gen/holdfast/v1/common_pb.ts";
export * from "./gen/holdfast/v1/event_pb.ts";
export * from "./gen/holdfast/v1/gate_pb.ts";
export * from "./gen/holdfast/v1/runner_service_pb.ts";
export * from "./gen/holdfast/v1/session_pb.ts";
export * from "./gen/holdfast/v1/session_service_pb.ts";
