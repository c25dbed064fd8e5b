// What a contract suite is run over.
import type { SessionKey, Store } from "@holdfast/pool";
import { afterAll, beforeAll } from "vitest";
import type { StoredRecord } from "../src/index.ts";

/** Opens a new store that holds nothing but these documents, each at revision 1. The suite closes it. */
export type Open = (records?: readonly StoredRecord[]) => Promise<Store>;

/** Runs the test over a new store and closes it, whatever comes of the test. */
export async function overStore(
  open: Open,
  test: (store: Store) => Promise<void>,
  records?: readonly StoredRecord[],
): Promise<void> {
  const store = await open(records);
  try {
    await test(store);
  } finally {
    await store.close();
  }
}

type SessionTest = (store: Store, key: SessionKey) => Promise<void>;

/** One store for all tests of the enclosing `describe`; each gets the key of a session that nobody has used. */
export function sharedStore(open: Open): (test: SessionTest) => Promise<void> {
  let store: Store;
  let sessions = 0;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());
  return (test) => {
    sessions += 1;
    return test(store, { project: "acme", sessionId: `session-${sessions}` });
  };
}
