// What a decision means on one gate (A8). ALLOW and REJECT need exactly one option of kind allow_once / reject_once; an
// "always" option is chosen only by naming it.
import type { OptionKind, Verdict } from "../reasons.ts";
import type { ClosedOption } from "./record.ts";

export type Choice = { readonly optionId: string } | { readonly verdict: Verdict };

/** The option a choice picks, or null when it is not offered or not single. */
export function resolveChoice<Option extends ClosedOption>(options: readonly Option[], choice: Choice): Option | null {
  if ("optionId" in choice) return single(options.filter((option) => option.optionId === choice.optionId));
  const kind: OptionKind = choice.verdict === "allow" ? "allow_once" : "reject_once";
  return single(options.filter((option) => option.kind === kind));
}

export function verdictOf(option: ClosedOption): Verdict {
  return option.kind === "allow_once" || option.kind === "allow_always" ? "allow" : "reject";
}

function single<Option>(matching: readonly Option[]): Option | null {
  return matching.length === 1 ? (matching[0] ?? null) : null;
}
