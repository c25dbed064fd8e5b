// What curl and a page send: one JSON request to the gateway, and its answer as it came.
import type { Stack } from "./stack.ts";

export type Posted = {
  readonly status: number;
  readonly body: { readonly code?: string; readonly message?: string };
  /** Every text in the error's details. */
  readonly named: string;
};

/** `body` as it is sent, whether it is JSON or not. */
export async function post(stack: Stack, method: string, body: string): Promise<Posted> {
  const response = await fetch(`http://${stack.gateway.address}/holdfast.v1.SessionService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const told = (await response.json()) as Posted["body"] & { details?: { value: string }[] };
  const named = (told.details ?? []).map(({ value }) => Buffer.from(value, "base64").toString("latin1")).join("\n");
  return { status: response.status, body: told, named };
}
