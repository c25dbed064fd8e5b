import { describe, expect, test } from "vitest";
import { NOISE_KINDS, parseLine, parsePrompt } from "./language.ts";

describe("the language", () => {
  test.each([
    ["say hello  there", { kind: "say", text: "hello  there" }],
    ["think hm", { kind: "think", text: "hm" }],
    ["run echo 'a  b' && ls | wc -l ", { kind: "run", command: "echo 'a  b' && ls | wc -l " }],
    ["both a b && c", { kind: "both", first: "a b", second: "c" }],
    ["both a && b && c", { kind: "both", first: "a", second: "b && c" }],
    ["both-held a && b", { kind: "both-held", first: "a", second: "b" }],
    ["batch a && b", { kind: "batch", first: "a", second: "b" }],
    ["twice make it", { kind: "twice", command: "make it" }],
    ["gates 33 true", { kind: "gates", count: 33, command: "true" }],
    ["ask which one?", { kind: "ask", question: "which one?" }],
    ["sleep 250", { kind: "sleep", ms: 250 }],
    ["flood 10", { kind: "flood", count: 10 }],
    ["exit 7", { kind: "exit", code: 7 }],
    ["exit-gated rm x", { kind: "exit-gated", command: "rm x" }],
    ["ignore-cancel 500", { kind: "ignore-cancel", ms: 500 }],
    ["noise text", { kind: "noise", noise: "text", sizeMib: undefined }],
    ["noise oversized 9", { kind: "noise", noise: "oversized", sizeMib: 9 }],
    ["stderr 2", { kind: "stderr", sizeMib: 2 }],
    ["grandchild 30", { kind: "grandchild", seconds: 30 }],
    ["remember color dark red", { kind: "remember", key: "color", value: "dark red" }],
    ["recall color", { kind: "recall", key: "color" }],
    ["env HOME", { kind: "env", name: "HOME" }],
    ["  pid  ", { kind: "pid" }],
  ])("reads `%s`", (line, command) => {
    expect(parseLine(line)).toEqual(command);
  });

  test.each([
    "hello",
    "running late",
    "Say hello",
    "say",
    "run   ",
    "both a b",
    "both && b",
    "batch a &&",
    "sleep well",
    "sleep -1",
    "sleep 2147483648",
    "flood 1.5",
    "exit 256",
    "gates 0 true",
    "gates 3",
    "gates 1001 true",
    "noise",
    "noise thunder",
    "noise text 5",
    "noise oversized 1025",
    "noise oversized 5 6",
    "stderr lots",
    "remember color",
    "recall",
    "recall two words",
    "env A B",
    "pid of what",
    "constructor",
  ])("keeps `%s`, which is no command, as an echo of the whole line", (line) => {
    expect(parseLine(line)).toEqual({ kind: "echo", text: line });
  });

  test("gives one command for every line that is not blank, in order, with either line ending", () => {
    expect(parsePrompt("say one\r\n\n   \nrun two\nthree")).toEqual([
      { kind: "say", text: "one" },
      { kind: "run", command: "two" },
      { kind: "echo", text: "three" },
    ]);
  });

  test("has no command in a prompt without text", () => {
    expect(parsePrompt("")).toEqual([]);
  });

  test("reads every kind of noise by its name", () => {
    for (const kind of NOISE_KINDS) expect(parseLine(`noise ${kind}`)).toMatchObject({ kind: "noise", noise: kind });
  });
});
