// CloseSession at the owner: the process tree ends now; a parked session keeps its gates answerable, cold.
import type { Refusal } from "@holdfast/pool";
import type { Route } from "@holdfast/wire";
import { takeAuthority } from "./authority.ts";
import type { SessionHost } from "./host.ts";
import { closeSlot } from "./loss.ts";

export type Closed = { readonly kind: "closing" } | { readonly kind: "refused"; readonly refusal: Refusal };

/** The slot is closing when this is over; `host.released` tells when nothing is left. */
export async function closeSession(host: SessionHost, route: Route): Promise<Closed> {
  const authority = await takeAuthority(host, route);
  if (authority.kind === "refused") return authority;
  const { instance } = host;
  if (instance === null) return { kind: "closing" };
  await host.refresh();
  const parked = host.held?.record.execution?.state === "parked";
  if (parked) {
    const changed = await host.change({ type: "mark_cold", reason: "closed" });
    if (changed.kind === "refused") return changed;
  }
  closeSlot(host, instance, "closed");
  return { kind: "closing" };
}
