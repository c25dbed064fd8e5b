// Names that nobody can guess: 128 bits of randomness behind a prefix that says what is named. Knowing one is not a
// permission, but not knowing it is a wall: a gate's id cannot be found by trying.

import { randomBytes } from "node:crypto";

/** What is named, and the prefix that says so in logs and replies. */
const PREFIXES = {
  gate: "gate",
  turn: "turn",
  answer: "ans",
  command: "cmd",
  incarnation: "inc",
  operation: "op",
  /** One agent process (the record's `instance`). */
  instance: "proc",
  nonce: "nonce",
} as const;

export type IdKind = keyof typeof PREFIXES;

/** Makes ids; a simulation passes its own, made from its seed. */
export type NewId = (kind: IdKind) => string;

const RANDOM_BYTES = 16;

/** `gate_` and 22 characters of `A-Za-z0-9_-`. Fit for a key, a path and a URL. */
export const newId: NewId = (kind) => `${PREFIXES[kind]}_${randomBytes(RANDOM_BYTES).toString("base64url")}`;

/** A secret of 256 bits for one process to hand to another, 43 characters. */
export function newSecret(): string {
  return randomBytes(2 * RANDOM_BYTES).toString("base64url");
}

/** A number from 0 up to, not including, 1: for jitter, never for names. */
export function random(): number {
  return Math.random();
}
