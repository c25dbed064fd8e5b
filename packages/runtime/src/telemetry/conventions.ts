// Names that are not ours: OpenTelemetry's semantic conventions, version 1.45. The RPC part is stable; the GenAI part is
// still moving, so this is the only file that spells it.

export const SCOPE = "holdfast";

export const RPC_SYSTEM_NAME = "rpc.system.name";
export const RPC_METHOD = "rpc.method";
export const RPC_STATUS_CODE = "rpc.status_code";
export const SERVER_ADDRESS = "server.address";
export const SERVER_PORT = "server.port";
export const ERROR_TYPE = "error.type";

export const GEN_AI_OPERATION_NAME = "gen_ai.operation.name";
export const GEN_AI_AGENT_NAME = "gen_ai.agent.name";
export const GEN_AI_CONVERSATION_ID = "gen_ai.conversation.id";
export const GEN_AI_TOOL_NAME = "gen_ai.tool.name";
export const GEN_AI_TOOL_CALL_ID = "gen_ai.tool.call.id";
export const INVOKE_AGENT = "invoke_agent";
export const EXECUTE_TOOL = "execute_tool";

export const SERVICE_NAME = "service.name";
export const SERVICE_NAMESPACE = "service.namespace";
export const SERVICE_VERSION = "service.version";
export const SERVICE_INSTANCE_ID = "service.instance.id";

/** gRPC's status names by their codes. */
export const STATUS_NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;
export type StatusName = (typeof STATUS_NAMES)[number];

/** The statuses that mean the server failed; with any other one the caller was told something true about its request. */
export const SERVER_FAULTS: ReadonlySet<StatusName> = new Set<StatusName>([
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
]);
