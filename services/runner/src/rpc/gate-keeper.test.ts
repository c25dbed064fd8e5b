import type { ServedCall } from "@holdfast/wire";
import { type Route, routeMessage } from "@holdfast/wire";
import { describe, expect, test } from "vitest";
import { admitGateway, routeOf } from "./gate-keeper.ts";

const TOKEN = "gateway-token";
const ROUTE: Route = {
  project: "acme",
  principal: "ann",
  incarnation: "boot-a",
  epoch: 3,
  claim: null,
  command: { commandId: "c1", execution: 2 },
  admin: false,
};

function callWith(authorization: string | null): ServedCall {
  return {
    rpc: "RunnerService/RunTurn",
    signal: new AbortController().signal,
    deadlineMs: null,
    header: (name) => (name === "authorization" ? authorization : null),
  };
}

describe("a caller", () => {
  test("with the gateway's token is admitted", () => {
    expect(admitGateway(TOKEN, callWith(`Bearer ${TOKEN}`))).toBeNull();
    expect(admitGateway(TOKEN, callWith(`bearer ${TOKEN}`))).toBeNull();
  });

  test.each([
    ["no header", null],
    ["another token", "Bearer gateway-tokem"],
    ["a longer token", `Bearer ${TOKEN}x`],
    ["a shorter token", "Bearer gateway-toke"],
    ["an empty token", "Bearer "],
    ["another scheme", `Basic ${TOKEN}`],
    ["the bare token", TOKEN],
  ])("with %s is refused, and the refusal holds no token", (_, header) => {
    const refused = admitGateway(TOKEN, callWith(header));
    expect(refused).toMatchObject({ reason: "CREDENTIAL_INVALID" });
    expect(JSON.stringify(refused)).not.toContain("gateway-tok");
  });

  test("is admitted without a token where none is configured: such a runner listens on loopback only", () => {
    expect(admitGateway(null, callWith(null))).toBeNull();
  });
});

describe("a route", () => {
  test("is believed from an authenticated gateway", () => {
    expect(routeOf(TOKEN, callWith(`Bearer ${TOKEN}`), routeMessage(ROUTE))).toEqual({ route: ROUTE });
  });

  test("is not looked at from anybody else", () => {
    expect(routeOf(TOKEN, callWith(null), undefined)).toMatchObject({ refusal: { reason: "CREDENTIAL_INVALID" } });
  });

  test("that is missing or incomplete is refused by the names of its fields", () => {
    expect(routeOf(null, callWith(null), undefined)).toMatchObject({ refusal: { reason: "FIELD_INVALID" } });
    const nobodys = routeOf(null, callWith(null), routeMessage({ ...ROUTE, project: "", incarnation: "" }));
    expect(nobodys).toMatchObject({
      refusal: {
        reason: "FIELD_INVALID",
        violations: [{ field: "route.project" }, { field: "route.owner_incarnation" }],
      },
    });
  });
});
