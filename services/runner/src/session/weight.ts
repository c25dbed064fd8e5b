// What a message of an agent weighs while it waits: its texts and attachments, however deep they are in it.

/** What a message, and each of its parts, weighs besides its content, in bytes. */
export const PART_BYTES = 256;

/** In bytes, a character counting as one. */
export function weightOf(value: object): number {
  return Object.values(value).reduce<number>((sum, part) => sum + contentOf(part), PART_BYTES);
}

function contentOf(part: unknown): number {
  if (typeof part === "string") return part.length;
  if (part instanceof Uint8Array) return part.byteLength;
  return typeof part === "object" && part !== null ? weightOf(part) : 0;
}
