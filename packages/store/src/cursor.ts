// Where a listing of records goes on: the key of the last entry given, in a form that promises nothing to who holds it.
import type { SessionKey } from "@holdfast/pool";
import { z } from "zod";

const positionShape = z.tuple([z.string(), z.string()]);

export function encodeCursor(key: SessionKey): string {
  return Buffer.from(JSON.stringify([key.project, key.sessionId])).toString("base64url");
}

/** Throws RangeError for what no listing has given. */
export function decodeCursor(cursor: string): SessionKey {
  const position = positionShape.safeParse(parse(cursor));
  if (!position.success) throw new RangeError("the cursor was not given by a listing of records");
  const [project, sessionId] = position.data;
  return { project, sessionId };
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
