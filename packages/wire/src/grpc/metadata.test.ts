import { Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { deadlineMs } from "./deadline.ts";
import { bearerMetadata, bearerToken, headerOf } from "./metadata.ts";

describe("metadata", () => {
  test("carries a bearer token; anything else in its place is none", () => {
    expect(bearerToken(headerOf(bearerMetadata("t0ken"), "authorization"))).toBe("t0ken");
    expect(bearerToken("bearer  t0ken")).toBe("t0ken");
    for (const other of [null, "", "Basic abc", "Bearer", "Bearer a b", "t0ken"]) expect(bearerToken(other)).toBeNull();
  });

  test("sent twice has no value that can be trusted", () => {
    const metadata = bearerMetadata("one");
    metadata.add("authorization", "Bearer two");
    expect(headerOf(metadata, "authorization")).toBeNull();
    expect(headerOf(new Metadata(), "authorization")).toBeNull();
  });
});

describe("a deadline", () => {
  test("is a moment, or null when a call has none", () => {
    expect(deadlineMs(new Date(5))).toBe(5);
    expect(deadlineMs(Number.POSITIVE_INFINITY)).toBeNull();
  });
});
