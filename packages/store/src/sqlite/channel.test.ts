import { once } from "node:events";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it, vi } from "vitest";
import { StoreUnavailable } from "../unavailable.ts";
import { Channel, serve } from "./channel.ts";

type NoCalls = { readonly ready: () => undefined; readonly close: () => Promise<void> };

describe("a call to a thread", () => {
  it("that could not start or has ended is answered with StoreUnavailable (H1)", async () => {
    const grown = vi.fn();
    const channel = new Channel<NoCalls>(new URL("./no-such-thread.ts", import.meta.url), {}, grown);
    await expect(channel.call("ready")).rejects.toThrow(StoreUnavailable);
    await expect(channel.call("ready")).rejects.toThrow("restart this process");
    expect(channel.isOpen).toBe(false);
    // Follows are sent to read, and so hear of it.
    expect(grown).toHaveBeenCalledWith(null);
    await channel.close();
  });

  it("fails with what the opening failed with, every one of them", async () => {
    const { port1, port2 } = new MessageChannel();
    serve<NoCalls>(port2, Promise.reject(new StoreUnavailable("the disk is gone", "bring it back")));
    for (const id of [1, 2]) {
      port1.postMessage({ id, name: "ready", args: [] });
      const failure = { kind: "unavailable", what: "the disk is gone", nextStep: "bring it back" };
      expect(await once(port1, "message")).toEqual([{ kind: "failure", id, failure }]);
    }
    port1.postMessage({ id: 3, name: "close", args: [] });
    expect(await once(port1, "message")).toEqual([{ kind: "value", id: 3, value: undefined }]);
    await once(port1, "close");
  });
});
