// The store's one error, known by its name: its class is the store package's own, and LogUnavailable stands for the same.

/** Whether a read could not be made: nothing is known, and asking again is safe. */
export function isStoreUnavailable(error: unknown): error is Error {
  return error instanceof Error && error.name === "StoreUnavailable";
}
