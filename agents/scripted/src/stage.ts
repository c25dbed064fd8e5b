// What a command has at hand while it is carried out.

import type { AgentContext, ClientCapabilities } from "@agentclientprotocol/sdk";
import type { Outlet } from "./outlet.ts";
import type { Session } from "./session.ts";
import type { Turn } from "./turn.ts";
import type { Voice } from "./voice.ts";

export type Stage = {
  session: Session;
  turn: Turn;
  /** For updates; they are in the session's history too. */
  voice: Voice;
  /** For requests to the client, and for what does not belong into the history. */
  client: AgentContext;
  /** What the client said it can do. */
  offers: ClientCapabilities;
  /** For what is no message at all. */
  outlet: Outlet;
};
