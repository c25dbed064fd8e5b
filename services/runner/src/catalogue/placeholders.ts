// `${name}` in a catalogue's texts: what is known only when an agent starts. `$${` stands for `${` itself.

/** What can stand in a catalogue, and where: `home` and `directory` are a session's, so they are known at its start only. */
export const PLACEHOLDERS = ["catalogue", "node", "home", "directory", "tmp"] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

const PLACEHOLDER = /\$(\$?)\{([^}]*)\}/g;

/** What is known before there is a session. */
export const HOST_PLACEHOLDERS = ["catalogue", "node"] as const satisfies readonly Placeholder[];

/** The placeholders in a text that are none of these, as written. */
export function unknownPlaceholders(text: string, known: readonly string[]): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)]
    .filter(([, escaped, name = ""]) => escaped === "" && !known.includes(name))
    .map(([written]) => written);
}

export function fillIn(text: string, values: Readonly<Record<Placeholder, string>>): string {
  return text.replace(PLACEHOLDER, (written, escaped: string, name: string) => {
    if (escaped !== "") return written.slice(1);
    return isPlaceholder(name) ? values[name] : written;
  });
}

function isPlaceholder(name: string | undefined): name is Placeholder {
  return PLACEHOLDERS.some((placeholder) => placeholder === name);
}
