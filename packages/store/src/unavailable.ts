// The one error of the store: a read that could not be made, or a store that could not be opened. Writes never throw it,
// their answer is `unknown` instead (S2), with the same words as its `why`.
import type { Unknown } from "@holdfast/pool";

/** What could not be done and what to do about it; both are in the message. Nothing was changed. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  readonly what: string;
  readonly nextStep: string;

  constructor(what: string, nextStep: string, options?: ErrorOptions) {
    super(`${what}: ${nextStep}`, options);
    this.what = what;
    this.nextStep = nextStep;
  }
}

/** A write whose store failed may be in or not. Any other error is our own bug and stays one. */
export async function unknownInstead<T>(write: Promise<T>): Promise<T | Unknown> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof StoreUnavailable) return { kind: "unknown", why: error.message };
    throw error;
  }
}

/** What every call answers once `close` was called. */
export function closedStore(): StoreUnavailable {
  return new StoreUnavailable("the store is closed", "its process is stopping; ask another one");
}
