// What can be chosen in an agent's session: its mode and its model. An agent offers modes in a list of their own or as a
// config option, models as a config option; both are chosen by id, or by the name that people see.

import { methods } from "@agentclientprotocol/sdk";
import { choicesShape, sessionShape } from "./shapes.ts";

type Choice = { readonly id: string; readonly name: string };

/** One thing to choose, and how the choice is told. `option` null: by session/set_mode. */
export type Selector = { readonly option: string | null; readonly choices: readonly Choice[] };
export type Selectors = { readonly mode: Selector | null; readonly model: Selector | null };

export type Selection = { readonly method: string; readonly params: Readonly<Record<string, string>> };

/** From the response to session/new, load or resume. Null for what is no such response. */
export function readSelectors(response: unknown): Selectors | null {
  const parsed = sessionShape.safeParse(response);
  if (!parsed.success) return null;
  const { modes, configOptions = [] } = parsed.data ?? {};
  const byCategory = (category: string): Selector | null => {
    const option = configOptions.find((candidate) => candidate.category === category);
    const choices = choicesShape.safeParse(option?.options);
    return option === undefined || !choices.success ? null : { option: option.id, choices: flat(choices.data) };
  };
  const modeList = modes?.availableModes.map(({ id, name }) => ({ id, name: name ?? id }));
  const mode = modeList === undefined ? byCategory("mode") : { option: null, choices: modeList };
  return { mode, model: byCategory("model") };
}

type ListedChoice = { readonly value: string; readonly name?: string | undefined };

function flat(listed: readonly (ListedChoice | { readonly options: readonly ListedChoice[] })[]): readonly Choice[] {
  const choices = listed.flatMap((entry) => ("options" in entry ? entry.options : [entry]));
  return choices.map(({ value, name }) => ({ id: value, name: name ?? value }));
}

export function idsOf(selector: Selector | null): readonly string[] {
  return selector?.choices.map(({ id }) => id) ?? [];
}

/** What to send for a choice; null when it is not offered. */
export function select(selector: Selector | null, sessionId: string, wanted: string): Selection | null {
  const choice =
    selector?.choices.find(({ id }) => id === wanted) ?? selector?.choices.find(({ name }) => name === wanted);
  if (selector === null || choice === undefined) return null;
  if (selector.option === null) {
    return { method: methods.agent.session.setMode, params: { sessionId, modeId: choice.id } };
  }
  const params = { sessionId, configId: selector.option, value: choice.id };
  return { method: methods.agent.session.setConfigOption, params };
}
