import { expect, test } from "vitest";
import { turns } from "../stream/test-feed.ts";
import { INBOX_BYTES, INBOX_MESSAGES, Inbox } from "./inbox.ts";

const nothing = () => undefined;

async function hasRoom(inbox: Inbox): Promise<boolean> {
  let has = false;
  void inbox.room().then(() => {
    has = true;
  });
  await turns();
  return has;
}

test("messages are taken in the order in which they came, once", () => {
  const inbox = new Inbox();
  const heard: string[] = [];
  for (const name of ["a", "b", "c"]) inbox.put(1, () => void heard.push(name));
  for (const handle of inbox.take()) void handle();
  expect(heard).toEqual(["a", "b", "c"]);
  expect(inbox.take()).toEqual([]);
});

test("the one who puts the first message is told to see to it, nobody else, until it was taken", () => {
  const inbox = new Inbox();
  expect([inbox.put(1, nothing), inbox.put(1, nothing)]).toEqual([true, false]);
  inbox.take();
  expect(inbox.put(1, nothing)).toBe(true);
});

test("there is room for INBOX_MESSAGES messages, and again when they were taken", async () => {
  const inbox = new Inbox();
  for (let count = 1; count < INBOX_MESSAGES; count += 1) inbox.put(1, nothing);
  expect(await hasRoom(inbox)).toBe(true);
  inbox.put(1, nothing);
  expect(await hasRoom(inbox)).toBe(false);
  const room = inbox.room();
  expect(inbox.take()).toHaveLength(INBOX_MESSAGES);
  await room;
  expect(await hasRoom(inbox)).toBe(true);
});

test("there is room for INBOX_BYTES bytes, however few messages they are", async () => {
  const inbox = new Inbox();
  inbox.put(INBOX_BYTES - 1, nothing);
  expect(await hasRoom(inbox)).toBe(true);
  inbox.put(1, nothing);
  expect(await hasRoom(inbox)).toBe(false);
  inbox.take();
  expect(await hasRoom(inbox)).toBe(true);
});

test("everyone who waits for room is woken", async () => {
  const inbox = new Inbox();
  inbox.put(INBOX_BYTES, nothing);
  const waiting = [inbox.room(), inbox.room()];
  inbox.take();
  await Promise.all(waiting);
});
