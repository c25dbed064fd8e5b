import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, type Json } from "./canonical.ts";

function shuffled(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(shuffled);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, member === undefined ? undefined : shuffled(member)]),
  );
}

describe("canonical JSON", () => {
  test.each<[string, Json, string]>([
    ["keys by code unit", { b: 1, a: 2, B: 3, "10": 4, "9": 5, é: 6 }, '{"10":4,"9":5,"B":3,"a":2,"b":1,"é":6}'],
    ["nested keys, arrays in their order", { z: [{ y: 1, x: 2 }, null, true] }, '{"z":[{"x":2,"y":1},null,true]}'],
    ["numbers", [0, -0, 1.0, 1e21, 1e-7, 0.1], "[0,0,1,1e+21,1e-7,0.1]"],
    ["strings", 'a"b\\c\n\u2028😀', '"a\\"b\\\\c\\n\u2028😀"'],
    ["an undefined member as absent", { a: undefined, b: 1 }, '{"b":1}'],
    ["nothing", [{}, [], ""], '[{},[],""]'],
  ])("writes %s", (_what, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test("is the same for every order of keys, and parses back to the value", () => {
    const anyValue = fc.property(fc.jsonValue(), (value) => {
      const json = value as Json;
      const text = canonicalJson(json);
      expect(canonicalJson(shuffled(json))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(json)));
    });
    fc.assert(anyValue);
  });

  test("tells different values apart", () => {
    const pair = fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const same = canonicalJson(one as Json) === canonicalJson(other as Json);
      expect(canonicalJson(JSON.parse(canonicalJson(one as Json))) === canonicalJson(other as Json)).toBe(same);
    });
    fc.assert(pair);
    const apart: Json[] = [1, "1", [1], { "1": 1 }, null, "null", true, "true", [[]], [], {}, [{}], ""];
    expect(new Set(apart.map(canonicalJson)).size).toBe(apart.length);
  });

  test("takes what is nested deeper, or is longer, than a call stack", () => {
    const depth = 200_000;
    const deep = JSON.parse("[".repeat(depth) + "]".repeat(depth)) as Json;
    expect(canonicalJson(deep)).toHaveLength(2 * depth);
    const long = Array.from({ length: 300_000 }, () => 1);
    expect(canonicalJson(long)).toHaveLength(2 * long.length + 1);
  });

  test("refuses a number JSON cannot hold", () => {
    expect(() => canonicalJson([Number.NaN])).toThrow(TypeError);
    expect(() => canonicalJson({ a: Number.POSITIVE_INFINITY })).toThrow(TypeError);
  });
});
