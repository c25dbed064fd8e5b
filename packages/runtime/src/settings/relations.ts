// Relations between settings: each is fine by itself and wrong together. All are checked before anything starts, for
// every one of them would otherwise show hours later, as an answer that came too late or a runner declared dead.

import { isLoopback } from "./kinds.ts";
import type { Service, Settings } from "./settings.ts";

/** `needs` are the settings it reads: it is not judged while one of them could not be read. */
interface Relation {
  readonly needs: readonly (keyof Settings)[];
  readonly holds: (settings: Settings, service: Service) => boolean;
  /** Named as the variable an operator should look at first. */
  readonly blames: keyof Settings;
  readonly problem: string;
}

/** Beats that must fit into a lease: a runner stops writing at 0.6 of it, so two may be lost before that. */
const BEATS_PER_LEASE = 4;

export const RELATIONS: readonly Relation[] = [
  atMost("idleTtlMs", "idleMaxMs", "must be at most HOLDFAST_IDLE_MAX"),
  atMost("approvalTtlMs", "approvalMaxMs", "must be at most HOLDFAST_APPROVAL_MAX"),
  atMost("turnLimitMs", "turnMaxMs", "must be at most HOLDFAST_TURN_MAX"),
  atMost("startLimitMs", "startMaxMs", "must be at most HOLDFAST_START_MAX"),
  {
    needs: ["approvalExpiryMs", "approvalMaxMs"],
    holds: ({ approvalExpiryMs, approvalMaxMs }) => approvalExpiryMs > approvalMaxMs,
    blames: "approvalExpiryMs",
    problem: "must be longer than HOLDFAST_APPROVAL_MAX, or a gate would expire while its process still waits",
  },
  {
    needs: ["sessionRetentionMs", "approvalExpiryMs"],
    holds: ({ sessionRetentionMs, approvalExpiryMs }) => sessionRetentionMs > approvalExpiryMs,
    blames: "sessionRetentionMs",
    problem: "must be longer than HOLDFAST_APPROVAL_EXPIRY, or a session would go while its gate can be answered",
  },
  {
    needs: ["leaseBeatMs", "leaseTtlMs"],
    holds: ({ leaseBeatMs, leaseTtlMs }) => leaseBeatMs * BEATS_PER_LEASE <= leaseTtlMs,
    blames: "leaseBeatMs",
    problem: "must be at most a quarter of HOLDFAST_LEASE_TTL, or one lost beat would fence a healthy runner",
  },
  {
    needs: ["natsCredsFile", "natsUrl"],
    holds: ({ natsCredsFile, natsUrl }) => natsCredsFile === null || natsUrl !== null,
    blames: "natsCredsFile",
    problem: "is given without HOLDFAST_NATS_URL",
  },
  {
    needs: ["host", "tokensFile"],
    holds: ({ host, tokensFile }, service) => service === "runner" || isLoopback(host) || tokensFile !== null,
    blames: "host",
    problem:
      "can be reached from other machines, so HOLDFAST_TOKENS_FILE must say who may call; or listen on 127.0.0.1",
  },
  {
    needs: ["host", "gatewayTokenFile"],
    holds: ({ host, gatewayTokenFile }, service) =>
      service !== "runner" || isLoopback(host) || gatewayTokenFile !== null,
    blames: "host",
    problem: "can be reached from other machines, so HOLDFAST_GATEWAY_TOKEN_FILE must say which gateway may call",
  },
];

function atMost(
  low: "idleTtlMs" | "approvalTtlMs" | "turnLimitMs" | "startLimitMs",
  high: "idleMaxMs" | "approvalMaxMs" | "turnMaxMs" | "startMaxMs",
  problem: string,
): Relation {
  return { needs: [low, high], holds: (settings) => settings[low] <= settings[high], blames: low, problem };
}
