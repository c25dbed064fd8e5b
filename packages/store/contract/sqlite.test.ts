// The contract, over sqlite.
import { describe } from "vitest";
import { openSqliteStore } from "../src/index.ts";
import { newDatabaseFile, tamper } from "./database-file.ts";
import { eventContract } from "./events.ts";
import { followContract } from "./follows.ts";
import { leaseContract } from "./leases.ts";
import { listingContract } from "./listing.ts";
import { recordContract } from "./records.ts";
import type { Open } from "./subject.ts";

/** Each run opens a file of its own. */
const PROPERTY_RUNS = 12;

describe("sqlite", () => {
  const open: Open = async (records = []) => {
    const file = await newDatabaseFile();
    if (records.length > 0) {
      await (await openSqliteStore({ file })).close();
      await tamper(file, (db) => {
        const put = db.prepare("INSERT INTO records (project, session_id, revision, document) VALUES (?, ?, 1, ?)");
        for (const { key, document } of records) put.run(key.project, key.sessionId, document);
      });
    }
    return openSqliteStore({ file });
  };
  recordContract(open, PROPERTY_RUNS);
  listingContract(open);
  eventContract(open, PROPERTY_RUNS);
  followContract(open);
  leaseContract(open);
});
