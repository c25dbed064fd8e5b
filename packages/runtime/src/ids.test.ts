import { expect, it } from "vitest";
import { sameSecret, sha256 } from "./digest.ts";
import { newId, newSecret, random } from "./ids.ts";

it("an id says what it names and carries 128 bits that fit a key", () => {
  for (const [kind, prefix] of [
    ["gate", "gate"],
    ["answer", "ans"],
    ["command", "cmd"],
    ["incarnation", "inc"],
    ["operation", "op"],
  ] as const) {
    expect(newId(kind)).toMatch(new RegExp(`^${prefix}_[A-Za-z0-9_-]{22}$`));
  }
});

it("no two ids or secrets are the same", () => {
  const many = Array.from({ length: 10_000 }, () => newId("gate"));
  expect(new Set(many).size).toBe(many.length);
  expect(newSecret()).toHaveLength(43);
  expect(newSecret()).not.toBe(newSecret());
});

it("jitter lies between 0 and 1", () => {
  for (let i = 0; i < 100; i++) expect(random()).toSatisfy((value: number) => value >= 0 && value < 1);
});

it("a digest is SHA-256 in hexadecimal, of text and bytes alike", () => {
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sha256(new TextEncoder().encode("é"))).toBe(sha256("é"));
});

it("secrets of different lengths can be compared and differ", () => {
  expect(sameSecret("hunter2", "hunter2")).toBe(true);
  expect(sameSecret("hunter2", "hunter3")).toBe(false);
  expect(sameSecret("hunter2", "hunter22")).toBe(false);
  expect(sameSecret("", "")).toBe(true);
});
