// May a new prompt go on with an idle process? The checks of A13, in its order; the first that fails is the reason why the
// process is ended. Only prompts are checked: an answer goes on with what its process was started with.
import type { EvictionReason } from "../reasons.ts";
import type { Checkout } from "./input.ts";
import type { LiveChange } from "./reply.ts";
import type { Process } from "./slot.ts";

export type WarmCheck =
  /** `process` as it will be once `apply` is done. */
  | { readonly kind: "warm"; readonly process: Process; readonly apply: LiveChange }
  | { readonly kind: "mismatch"; readonly reason: EvictionReason };

export function warmCheck(process: Process, asked: Checkout): WarmCheck {
  const apply = liveChange(process, asked);
  if (apply === null) return { kind: "mismatch", reason: "config_changed" };
  if (asked.history !== null && asked.history !== process.history)
    return { kind: "mismatch", reason: "history_changed" };
  if (asked.credentials === "changed") return { kind: "mismatch", reason: "credentials_changed" };
  if (asked.credentials === "expired") return { kind: "mismatch", reason: "credentials_expired" };
  if (asked.workspace === "lost") return { kind: "mismatch", reason: "workspace_lost" };
  if (asked.mustBeNew) return { kind: "mismatch", reason: "owner_lost" };
  return { kind: "warm", process: { ...process, limits: asked.limits, config: asked.config }, apply };
}

/** null: the difference needs another process. */
function liveChange(process: Process, asked: Checkout): LiveChange | null {
  const had = process.config;
  const wanted = asked.config;
  if (wanted.base !== had.base) return null;
  const model = wanted.model === had.model ? null : wanted.model;
  const mode = wanted.mode === had.mode ? null : wanted.mode;
  if (model !== null && !process.offers.models.includes(model)) return null;
  if (mode !== null && !process.offers.modes.includes(mode)) return null;
  return { model, mode };
}
