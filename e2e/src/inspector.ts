// Looks into a service that was started with NODE_OPTIONS=--inspect=0, over Node's inspector: what it holds after its garbage
// is gone, and what keeps its event loop alive. Nothing in the service knows of it.
import { once } from "node:events";
import type { Service } from "./service.ts";

type Reply = { readonly id?: number; readonly result?: unknown; readonly error?: { readonly message: string } };

export type Holding = {
  /** Objects in use. Not bytes: compiled code grows for as long as a process finds more to compile. */
  readonly objects: number;
  /** What the event loop waits for, by kind: timers, sockets, pipes, servers. */
  readonly resources: Readonly<Record<string, number>>;
};

const COUNT_OBJECTS = 'process.getBuiltinModule("v8").queryObjects(Object, { format: "count" })';

export class Inspector {
  private readonly socket: WebSocket;
  private readonly waiting = new Map<number, PromiseWithResolvers<unknown>>();
  private calls = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => this.receive(JSON.parse(String(data)) as Reply));
  }

  static async attach(service: Service): Promise<Inspector> {
    const url = service.log.match(/ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/g)?.at(-1);
    if (url === undefined) throw new Error(`${service.name} was started without its inspector`);
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Inspector(socket);
  }

  async holding(): Promise<Holding> {
    // What a first collection finds unused may hold more that the second finds.
    for (let round = 0; round < 2; round += 1) await this.call("HeapProfiler.collectGarbage");
    const objects = (await this.evaluate(COUNT_OBJECTS)) as number;
    const kinds = (await this.evaluate("process.getActiveResourcesInfo()")) as string[];
    const resources: Record<string, number> = {};
    for (const kind of kinds) resources[kind] = (resources[kind] ?? 0) + 1;
    return { objects, resources };
  }

  close(): void {
    this.socket.close();
  }

  private async evaluate(expression: string): Promise<unknown> {
    const reply = await this.call("Runtime.evaluate", { expression, returnByValue: true });
    return (reply as { readonly result: { readonly value: unknown } }).result.value;
  }

  private call(method: string, params: object = {}): Promise<unknown> {
    this.calls += 1;
    const called = Promise.withResolvers<unknown>();
    this.waiting.set(this.calls, called);
    this.socket.send(JSON.stringify({ id: this.calls, method, params }));
    return called.promise;
  }

  private receive({ id = 0, result, error }: Reply): void {
    const called = this.waiting.get(id);
    this.waiting.delete(id);
    if (error === undefined) called?.resolve(result);
    else called?.reject(new Error(error.message));
  }
}
