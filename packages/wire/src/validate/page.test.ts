import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PAGE_TOKEN_CHARACTERS } from "./limits.ts";
import { decodePageToken, encodePageToken, type PageScope, readPage } from "./page.ts";
import { Violations } from "./violations.ts";

const SCOPE: PageScope = { list: "sessions", project: "p", filter: { labels: { a: "1" } } };
const place = fc.string({ unit: "binary", minLength: 1, maxLength: 200 }).map((each) => each.toWellFormed());

describe("a page token", () => {
  test("gives back the place it was made for, in any gateway", () => {
    fc.assert(
      fc.property(place, (after) => {
        expect(decodePageToken(structuredClone(SCOPE), encodePageToken(SCOPE, after))).toBe(after);
      }),
    );
  });

  test("is foreign to another list, project or filter", () => {
    const token = encodePageToken(SCOPE, "s-1");
    expect(decodePageToken({ ...SCOPE, list: "approvals" }, token)).toBeNull();
    expect(decodePageToken({ ...SCOPE, project: "q" }, token)).toBeNull();
    expect(decodePageToken({ ...SCOPE, filter: { labels: { a: "2" } } }, token)).toBeNull();
    expect(decodePageToken({ ...SCOPE, filter: { labels: { a: "1" } } }, token)).toBe("s-1");
  });

  test("that somebody made up or changed is null, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (token) => {
        expect(decodePageToken(SCOPE, token)).toBeNull();
      }),
    );
    fc.assert(
      fc.property(place, fc.nat(), (after, at) => {
        const token = encodePageToken(SCOPE, after);
        const index = at % token.length;
        const changed = token.slice(0, index) + (token[index] === "A" ? "B" : "A") + token.slice(index + 1);
        expect(decodePageToken(SCOPE, changed)).toBeNull();
      }),
    );
    expect(decodePageToken(SCOPE, "A".repeat(PAGE_TOKEN_CHARACTERS + 1))).toBeNull();
  });

  test("of another list is an invalid field", () => {
    const found = new Violations();
    readPage(found, { pageSize: 0, pageToken: encodePageToken({ ...SCOPE, list: "approvals" }, "g") }, SCOPE);
    const settled = found.settle("ListSessions", () => null);
    expect(settled).toMatchObject({ refusal: { violations: [{ field: "page_token" }] } });
  });
});
