// The store contract's implementations, and the encoding they share.
export { type DecodedRecord, decodeRecord, encodeRecord } from "./codec.ts";
export type { StoredRecord } from "./memory/records.ts";
export { openMemoryStore } from "./memory/store.ts";
export { openSqliteStore, type SqliteOptions } from "./sqlite/store.ts";
export { StoreUnavailable } from "./unavailable.ts";
