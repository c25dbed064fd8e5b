// Which test is run how: four projects, by folder. What needs no process of its own is `unit`; what touches a
// store is `store`; real processes are `e2e`; real agents are `agents`, which nothing but `npm run test:agents` starts.

import { defineConfig } from "vitest/config";

const UNIT_TIMEOUT_MS = 30_000;
const STORE_TIMEOUT_MS = 60_000;
const E2E_TIMEOUT_MS = 120_000;
const AGENTS_TIMEOUT_MS = 300_000;

/** Real processes share two cores and a clock: one file at a time keeps their bounds honest. */
const ONE_FILE_AT_A_TIME = { fileParallelism: false } as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["{packages,services,agents,tools}/**/*.test.ts"],
          exclude: ["**/node_modules/**", "packages/store/**"],
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: "store",
          include: ["packages/store/**/*.test.ts"],
          exclude: ["**/node_modules/**"],
          testTimeout: STORE_TIMEOUT_MS,
          hookTimeout: STORE_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["e2e/**/*.test.ts"],
          exclude: ["**/node_modules/**", "e2e/agents/**"],
          testTimeout: E2E_TIMEOUT_MS,
          hookTimeout: E2E_TIMEOUT_MS,
          ...ONE_FILE_AT_A_TIME,
        },
      },
      {
        test: {
          name: "agents",
          include: ["e2e/agents/**/*.test.ts"],
          exclude: ["**/node_modules/**"],
          testTimeout: AGENTS_TIMEOUT_MS,
          hookTimeout: AGENTS_TIMEOUT_MS,
          ...ONE_FILE_AT_A_TIME,
        },
      },
    ],
  },
});
