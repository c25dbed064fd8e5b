import { expect, it } from "vitest";
import { countOf, type StageFiles } from "./tally.ts";

const cases: readonly { name: string; files: StageFiles; count: { passed: number; failed: number } }[] = [
  {
    name: "a stage that passed counts its tests",
    files: { exit: "0\n", report: `{"numPassedTests":3,"numFailedTests":0}` },
    count: { passed: 3, failed: 0 },
  },
  {
    name: "failed tests count once each",
    files: { exit: "1\n", report: `{"numPassedTests":3,"numFailedTests":2}` },
    count: { passed: 3, failed: 2 },
  },
  {
    name: "the check's own report counts its steps",
    files: { exit: "1\n", report: `{"passed":6,"failed":1}` },
    count: { passed: 6, failed: 1 },
  },
  {
    name: "a failure that no test names counts as one",
    files: { exit: "1\n", report: `{"numPassedTests":3,"numFailedTests":0}` },
    count: { passed: 3, failed: 1 },
  },
  {
    name: "a stage that left no report counts as one failure",
    files: { exit: "0\n", report: null },
    count: { passed: 0, failed: 1 },
  },
  {
    name: "a stage that left no exit code counts as one failure",
    files: { exit: null, report: `{"numPassedTests":3,"numFailedTests":0}` },
    count: { passed: 3, failed: 1 },
  },
  {
    name: "a report that was cut counts as one failure",
    files: { exit: "0\n", report: `{"numPassedTests":` },
    count: { passed: 0, failed: 1 },
  },
  {
    name: "a report of another shape counts as one failure",
    files: { exit: "0\n", report: `[]` },
    count: { passed: 0, failed: 1 },
  },
];

it.each(cases)("$name", ({ files, count }) => {
  expect(countOf(files)).toEqual(count);
});
