// Calls from the process's own loop to the thread that holds the database, and their replies; besides, the thread's word
// that logs have grown. Calls begin in the order in which they were made.
//
// H1  Every call is answered: by the thread, or, when that has ended, with StoreUnavailable.
import { type MessagePort, Worker } from "node:worker_threads";
import type { SessionKey } from "@holdfast/pool";
import { closedStore, StoreUnavailable } from "../unavailable.ts";

type Calls = { readonly [name: string]: (...args: never[]) => unknown };
type Result<C extends Calls, Name extends keyof C> = Awaited<ReturnType<C[Name]>>;

type Request = { readonly id: number; readonly name: string; readonly args: readonly unknown[] };
type Failure =
  | { readonly kind: "unavailable"; readonly what: string; readonly nextStep: string }
  /** Ours: the error goes to the caller as it is. */
  | { readonly kind: "bug"; readonly error: unknown };
type Message =
  | { readonly kind: "value"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly failure: Failure }
  /** The logs that have grown; null: any of them may have. */
  | { readonly kind: "grown"; readonly keys: readonly SessionKey[] | null };

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void };
export type Grown = (keys: readonly SessionKey[] | null) => void;

/** The caller's end: it starts the thread and ends it. */
export class Channel<C extends Calls> {
  readonly #worker: Worker;
  readonly #grown: Grown;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  /** Why no call can be made any more; null while they can. */
  #ended: StoreUnavailable | null = null;
  #closing: Promise<void> | null = null;
  readonly #exited: Promise<void>;

  constructor(thread: URL, workerData: unknown, grown: Grown) {
    this.#worker = new Worker(thread, { workerData });
    this.#grown = grown;
    this.#worker.on("message", (message: Message) => {
      if (message.kind === "grown") grown(message.keys);
      else this.#settle(message);
    });
    this.#worker.on("error", (error) => this.#endAll(threadEnded(error)));
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        this.#endAll(threadEnded(undefined));
        resolve();
      });
    });
  }

  /** Whether calls can still be made. */
  get isOpen(): boolean {
    return this.#ended === null;
  }

  call<Name extends keyof C & string>(name: Name, ...args: Parameters<C[Name]>): Promise<Result<C, Name>> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) =>
      this.#post(name, args, { resolve: (value) => resolve(value as Result<C, Name>), reject }),
    );
  }

  /** Lets the thread finish every call made so far, close what it holds, and end by itself. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (!this.isOpen) return;
    const closed = new Promise<unknown>((resolve, reject) => this.#post("close", [], { resolve, reject }));
    this.#ended = closedStore();
    try {
      await closed;
    } finally {
      await this.#exited;
    }
  }

  #post(name: string, args: readonly unknown[], waiting: Waiting): void {
    const request: Request = { id: this.#nextId++, name, args };
    this.#worker.postMessage(request);
    this.#waiting.set(request.id, waiting);
  }

  #settle(message: Exclude<Message, { kind: "grown" }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === "value") waiting?.resolve(message.value);
    else waiting?.reject(errorOf(message.failure));
  }

  #endAll(why: StoreUnavailable): void {
    this.#ended ??= why;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
    // Whoever follows a log reads on, and hears why it cannot.
    this.#grown(null);
  }
}

/**
 * The thread's end. Until `opening` is done calls wait; when it fails, that is the answer to each of them. The call `close`
 * is the last: the thread ends when nothing else keeps it.
 */
export function serve<C extends Calls & { close(): Promise<void> }>(port: MessagePort, opening: Promise<C>): void {
  // Kept as a value: it may fail before the first call comes to hear of it.
  const opened = opening.then(
    (calls) => ({ calls, failure: null }),
    (error) => ({ calls: null, failure: failureOf(error) }),
  );
  const reply = async ({ id, name, args }: Request): Promise<Message> => {
    const { calls, failure } = await opened;
    if (failure !== null && name !== "close") return { kind: "failure", id, failure };
    try {
      return { kind: "value", id, value: await calls?.[name]?.(...(args as never[])) };
    } catch (error) {
      return { kind: "failure", id, failure: failureOf(error) };
    }
  };
  const answer = async (request: Request): Promise<void> => {
    const message = await reply(request);
    port.postMessage(message);
    if (request.name === "close") port.close();
  };
  port.on("message", (request: Request) => void answer(request));
}

export function tellGrown(port: MessagePort, keys: readonly SessionKey[] | null): void {
  const message: Message = { kind: "grown", keys };
  port.postMessage(message);
}

function failureOf(error: unknown): Failure {
  if (error instanceof StoreUnavailable) return { kind: "unavailable", what: error.what, nextStep: error.nextStep };
  return { kind: "bug", error };
}

function errorOf(failure: Failure): unknown {
  return failure.kind === "unavailable" ? new StoreUnavailable(failure.what, failure.nextStep) : failure.error;
}

function threadEnded(cause: unknown): StoreUnavailable {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return new StoreUnavailable(`the thread that holds the database has ended${why}`, "restart this process", { cause });
}
