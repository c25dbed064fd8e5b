// Optional parts of the contract. A server names those it has built in GetServerInfo; a request that asks for another one is
// refused with FIELD_INVALID, never silently ignored.
import type { Violations } from "./violations.ts";

export const CAPABILITIES = [
  "cancel-on-disconnect",
  "delete-session",
  "drain",
  "elicitation",
  "history",
  "interrupt",
  "permission-rules",
  "secrets",
  "watch-approvals",
] as const;
export type Capability = (typeof CAPABILITIES)[number];
export type Capabilities = ReadonlySet<Capability>;

export function checkCapability(
  found: Violations,
  field: string,
  capability: Capability,
  asked: boolean,
  has: Capabilities,
): void {
  found.check(!asked || has.has(capability), field, `needs the capability "${capability}", which this server lacks`);
}
