// The contract, over memory.
import { describe } from "vitest";
import { openMemoryStore } from "../src/index.ts";
import { eventContract } from "./events.ts";
import { followContract } from "./follows.ts";
import { leaseContract } from "./leases.ts";
import { listingContract } from "./listing.ts";
import { recordContract } from "./records.ts";
import type { Open } from "./subject.ts";

const PROPERTY_RUNS = 100;

describe("memory", () => {
  const open: Open = async (records) => openMemoryStore(records);
  recordContract(open, PROPERTY_RUNS);
  listingContract(open);
  eventContract(open, PROPERTY_RUNS);
  followContract(open);
  leaseContract(open);
});
