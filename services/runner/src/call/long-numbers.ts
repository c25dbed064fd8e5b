// Numbers in a JSON text that a double may not hold: long ids, 1e400. Read the usual way, two different ones become one.

/** Finds too many rather than too few. */
const LONG_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/;

export function hasLongNumbers(json: string): boolean {
  return LONG_NUMBER.test(json);
}
