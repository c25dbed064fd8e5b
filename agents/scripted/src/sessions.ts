// The ACP sessions of this process, by id. What a client may not do with one is refused here, as a JSON-RPC error.

import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { RequestError } from "@agentclientprotocol/sdk";
import { Session } from "./session.ts";

export class Sessions {
  readonly #open = new Map<string, Session>();

  /** -32602 when the directory is not there. */
  create(directory: string): Session {
    return this.#keep(Session.create(checked(directory)));
  }

  /** Of an earlier process, or once more of this one. -32002 when the directory does not know it, -32600 while it runs. */
  bringBack(directory: string, id: string): Session {
    if (this.#open.get(id)?.turn) throw RequestError.invalidRequest(undefined, "this session has a prompt running");
    const session = Session.restore(checked(directory), id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return this.#keep(session);
  }

  /** -32002 when it is not open in this process. */
  get(id: string): Session {
    const session = this.#open.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  }

  /** Stops what it does and forgets it; its memory stays in its directory. */
  close(id: string): void {
    this.get(id).turn?.cancel();
    this.#open.delete(id);
  }

  /** A notification has nobody to tell that there is no such session. */
  cancel(id: string): void {
    this.#open.get(id)?.turn?.cancel();
  }

  #keep(session: Session): Session {
    this.#open.set(session.id, session);
    return session;
  }
}

function checked(directory: string): string {
  if (!isAbsolute(directory) || !statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw RequestError.invalidParams({ cwd: directory }, "cwd must be an absolute path of a directory");
  }
  return directory;
}
