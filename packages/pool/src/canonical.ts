// One text for one value: object keys sorted by UTF-16 code unit, no spaces, numbers as ECMAScript writes them (-0 is 0),
// members that are undefined left out. Digests and fingerprints are made of this text, so equal values have equal digests.
//
// C1  Two values that differ only in the order of their keys have the same text; any other difference shows in it.
// C2  Parsing the text gives the value back.
// C3  Depth does not matter: what an agent sends may be nested further than a call stack is deep, so nothing recurses here.

/** A tree as JSON.parse makes it. Members that are undefined count as absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json | undefined };

type Piece = { readonly text: string } | { readonly value: Json };

/** The canonical text. Throws TypeError for a number JSON cannot hold: a bug of the caller, never of a client. */
export function canonicalJson(value: Json): string {
  const written: string[] = [];
  const pending: Piece[] = [{ value }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    if ("text" in piece) written.push(piece.text);
    else if (piece.value === null || typeof piece.value !== "object") written.push(scalar(piece.value));
    else for (const next of pieces(piece.value).reverse()) pending.push(next);
  }
  return written.join("");
}

function scalar(value: null | boolean | number | string): string {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}`);
  return JSON.stringify(value);
}

function pieces(value: readonly Json[] | { readonly [member: string]: Json | undefined }): Piece[] {
  if (isArray(value))
    return bracketed(
      "[",
      value.map((element) => [{ value: element }]),
      "]",
    );
  const members: Piece[][] = [];
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members.push([{ text: `${JSON.stringify(name)}:` }, { value: member }]);
  }
  return bracketed("{", members, "}");
}

function bracketed(open: string, elements: readonly Piece[][], close: string): Piece[] {
  const all: Piece[] = [{ text: open }];
  for (const [index, element] of elements.entries()) {
    if (index > 0) all.push({ text: "," });
    all.push(...element);
  }
  all.push({ text: close });
  return all;
}

/** Array.isArray does not narrow readonly arrays. */
function isArray(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
