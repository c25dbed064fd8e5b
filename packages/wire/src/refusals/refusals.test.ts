import { Code } from "@connectrpc/connect";
import { Metadata, status } from "@grpc/grpc-js";
import { REFUSAL_REASONS, type Refusal, refusal } from "@holdfast/pool";
import { BadRequestSchema, ErrorInfoSchema, PreconditionFailureSchema, RetryInfoSchema } from "@holdfast/proto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { statusConnectError } from "./connect-error.ts";
import { ERROR_MESSAGE_CHARACTERS, refusalStatus, STATUS_DETAILS_BYTES } from "./details.ts";
import { internalStatus, refusalOfException } from "./exceptions.ts";
import { fromServiceError, STATUS_DETAILS_KEY, statusServiceError, toServiceError } from "./service-error.ts";
import { STATUS_CODES } from "./status-code.ts";

const violations = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    field: `prompt[${index}].text.text`,
    description: "must not be empty",
  }));

const fieldInvalid = (count: number): Refusal => ({
  ...refusal("FIELD_INVALID", "The request has invalid fields.", "Correct them.", { session_id: "s" }),
  violations: violations(count),
});

describe("a refusal", () => {
  test.each(REFUSAL_REASONS)("%s crosses grpc-js and comes back as it was", (reason) => {
    const sent: Refusal = { ...refusal(reason, "What happened.", "Do this.", { gate_id: "g" }), retryAfterMs: 250 };
    const error = toServiceError(sent);
    expect(error.code).toBe(STATUS_CODES[reason]);
    expect(fromServiceError(error)).toEqual(sent);
  });

  test.each(REFUSAL_REASONS)("%s has the same code and details over Connect", (reason) => {
    const sent = refusal(reason, "What happened.", "Do this.", { gate_id: "g" });
    const error = statusConnectError(refusalStatus(sent));
    expect(error.code).toBe(STATUS_CODES[reason] as number as Code);
    const [info] = error.findDetails(ErrorInfoSchema);
    expect(info).toMatchObject({ domain: "holdfast", reason, metadata: { gate_id: "g", next_step: "Do this." } });
    const precondition = error.findDetails(PreconditionFailureSchema).length;
    expect(precondition).toBe(error.code === Code.FailedPrecondition ? 1 : 0);
  });

  test("survives a mangled message, since the reason and the text are read from the details", () => {
    const sent = refusal("GATE_UNKNOWN", "No gate g%41 in session é.", "Look again.");
    const error = toServiceError(sent);
    error.details = "%%%";
    error.message = "broken";
    expect(fromServiceError(error)).toEqual(sent);
  });

  test("has a status text of printable ASCII without a percent sign, whatever its message holds", () => {
    const text = toServiceError(refusal("GATE_UNKNOWN", "50 % of é\n\u{1f600}\ud800", "")).details;
    expect(text).toMatch(/^[\x20-\x24\x26-\x7e]*$/);
  });

  test.each(["POOL_FULL", "DRAINING", "STORE_UNAVAILABLE"] as const)("%s says when to retry", (reason) => {
    const error = statusConnectError(refusalStatus(refusal(reason, "", "")));
    expect(error.findDetails(RetryInfoSchema)[0]?.retryDelay).toBeDefined();
    expect(fromServiceError(toServiceError(refusal(reason, "", "")))?.retryAfterMs).toBeGreaterThan(0);
  });

  test("FIELD_INVALID carries every violation as BadRequest", () => {
    const [badRequest] = statusConnectError(refusalStatus(fieldInvalid(3))).findDetails(BadRequestSchema);
    expect(badRequest?.fieldViolations.map((each) => each.field)).toEqual(violations(3).map((each) => each.field));
    expect(fromServiceError(toServiceError(fieldInvalid(3)))?.violations).toEqual(violations(3));
  });

  test("with more violations than a header holds keeps the first ones and says how many there were", () => {
    const error = toServiceError(fieldInvalid(256));
    const bytes = error.metadata.get(STATUS_DETAILS_KEY)[0] as Buffer;
    expect(bytes.byteLength).toBeLessThanOrEqual(STATUS_DETAILS_BYTES);
    const kept = fromServiceError(error)?.violations?.length ?? 0;
    expect(kept).toBeGreaterThan(10);
    const [info] = statusConnectError(refusalStatus(fieldInvalid(256))).findDetails(ErrorInfoSchema);
    expect(info?.metadata.violations).toBe(`${kept} of 256 shown`);
  });

  test("of any content fits the header and keeps its reason", () => {
    const arbitrary = fc.record({
      reason: fc.constantFrom(...REFUSAL_REASONS),
      message: fc.string({ unit: "binary", maxLength: 5_000 }),
      nextStep: fc.string({ unit: "binary", maxLength: 5_000 }),
      metadata: fc.dictionary(fc.string({ maxLength: 80 }), fc.string({ unit: "binary", maxLength: 3_000 })),
      violations: fc.array(fc.record({ field: fc.string(), description: fc.string({ maxLength: 2_000 }) })),
    });
    fc.assert(
      fc.property(arbitrary, (sent) => {
        const error = toServiceError(sent);
        const bytes = error.metadata.get(STATUS_DETAILS_KEY)[0] as Buffer;
        expect(bytes.byteLength).toBeLessThanOrEqual(STATUS_DETAILS_BYTES);
        expect(error.details.length).toBeLessThanOrEqual(ERROR_MESSAGE_CHARACTERS * 2);
        expect(fromServiceError(error)?.reason).toBe(sent.reason);
      }),
    );
  });
});

describe("an error that is no refusal of ours", () => {
  const serviceError = (code: status, bytes?: Buffer) => {
    const metadata = new Metadata();
    if (bytes !== undefined) metadata.set(STATUS_DETAILS_KEY, bytes);
    return Object.assign(new Error("text"), { code, details: "text", metadata });
  };

  test("is null: no details, foreign bytes, a plain exception, another thing altogether", () => {
    expect(fromServiceError(serviceError(status.UNAVAILABLE))).toBeNull();
    expect(fromServiceError(serviceError(status.UNAVAILABLE, Buffer.from([0xff, 0xff, 0xff])))).toBeNull();
    expect(fromServiceError(new Error("text"))).toBeNull();
    expect(fromServiceError("text")).toBeNull();
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(fromServiceError(serviceError(status.INTERNAL, Buffer.from(bytes)))).toBeNull();
      }),
    );
  });

  test("an internal error tells its correlation id and is not read as a refusal", () => {
    const error = statusServiceError(internalStatus("c-1"));
    expect(error.code).toBe(status.INTERNAL);
    expect(error.details).toContain("c-1");
    expect(fromServiceError(error)).toBeNull();
  });

  test("StoreUnavailable stands for STORE_UNAVAILABLE, any other exception for nothing", () => {
    const unavailable = Object.assign(new Error("locked"), { name: "StoreUnavailable" });
    expect(refusalOfException(unavailable)?.reason).toBe("STORE_UNAVAILABLE");
    expect(refusalOfException(new Error("locked"))).toBeNull();
    expect(refusalOfException(toServiceError(refusal("NOT_OWNER", "", "")))?.reason).toBe("NOT_OWNER");
  });
});
