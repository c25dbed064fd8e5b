// GetServerInfo: version, every limit in force, the agents that live runners have, and which optional parts are built.
import { create } from "@bufbuild/protobuf";
import {
  CONFIG_BYTES,
  EVENT_BYTES,
  GATE_ARGUMENT_BYTES,
  LABELS,
  OPEN_GATES_PER_SESSION,
  RECORD_BYTES,
  WATCHERS_PER_SESSION,
} from "@holdfast/pool";
import { type GetServerInfoRequest, type GetServerInfoResponse, GetServerInfoResponseSchema } from "@holdfast/proto";
import { type Settings, VERSION } from "@holdfast/runtime";
import * as wire from "@holdfast/wire";
import { agentsOf, livePools } from "../runners/pools.ts";
import type { GatewayWorld } from "../world.ts";
import type { Call } from "./call.ts";

export async function getServerInfo(
  world: GatewayWorld,
  _request: GetServerInfoRequest,
  call: Call,
): Promise<wire.Reply<GetServerInfoResponse>> {
  const agents = agentsOf(await livePools(world, call.signal));
  world.telemetry.metrics.knowAgents(agents);
  const ok = create(GetServerInfoResponseSchema, {
    version: VERSION,
    limits: limitsInForce(world.settings),
    agents: [...agents],
    capabilities: [...world.capabilities].sort(),
  });
  return { ok };
}

/** By name, unit last; decimal integers. */
function limitsInForce(settings: Settings): Record<string, string> {
  const limits: Record<string, number> = {
    request_bytes: wire.MAX_REQUEST_BYTES,
    event_bytes: EVENT_BYTES,
    record_bytes: RECORD_BYTES,
    config_bytes: CONFIG_BYTES,
    history_bytes: wire.HISTORY_BYTES,
    note_bytes: wire.NOTE_BYTES,
    gate_argument_bytes: GATE_ARGUMENT_BYTES,
    session_id_characters: wire.SESSION_ID_CHARACTERS,
    key_characters: wire.KEY_CHARACTERS,
    channel_characters: wire.CHANNEL_CHARACTERS,
    label_key_characters: wire.LABEL_KEY_CHARACTERS,
    label_value_characters: wire.LABEL_VALUE_CHARACTERS,
    labels: LABELS,
    prompt_blocks: wire.PROMPT_BLOCKS,
    open_gates_per_session: OPEN_GATES_PER_SESSION,
    watchers_per_session: WATCHERS_PER_SESSION,
    page_entries: wire.PAGE_DEFAULT_ENTRIES,
    page_max_entries: wire.PAGE_MAX_ENTRIES,
    idle_ttl_ms: settings.idleTtlMs,
    idle_ttl_max_ms: settings.idleMaxMs,
    approval_ttl_ms: settings.approvalTtlMs,
    approval_ttl_max_ms: settings.approvalMaxMs,
    approval_expiry_ms: settings.approvalExpiryMs,
    turn_limit_ms: settings.turnLimitMs,
    turn_limit_max_ms: settings.turnMaxMs,
  };
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, String(value)]));
}
