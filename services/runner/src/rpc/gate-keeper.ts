// Only an authenticated gateway calls a runner: the token of HOLDFAST_GATEWAY_TOKEN_FILE, compared in constant time. What
// RouteContext says is believed only from it.
import { type Refusal, refusal } from "@holdfast/pool";
import type { RouteContext } from "@holdfast/proto";
import { sameSecret } from "@holdfast/runtime";
import { bearerToken, type Route, readRoute, type ServedCall } from "@holdfast/wire";

/** null: no token is configured; such a runner listens on loopback only. */
export type GatewayToken = string | null;

export function admitGateway(token: GatewayToken, call: ServedCall): Refusal | null {
  if (token === null) return null;
  const presented = bearerToken(call.header("authorization"));
  if (presented !== null && sameSecret(presented, token)) return null;
  return refusal(
    "CREDENTIAL_INVALID",
    `${call.rpc}: the caller is not a gateway of this runner`,
    "give gateway and runner the same HOLDFAST_GATEWAY_TOKEN_FILE",
  );
}

export type Routed = { readonly route: Route } | { readonly refusal: Refusal };

/** The route of an authenticated gateway's request. */
export function routeOf(token: GatewayToken, call: ServedCall, message: RouteContext | undefined): Routed {
  const refused = admitGateway(token, call);
  if (refused !== null) return { refusal: refused };
  const read = readRoute(call.rpc, message);
  return "refusal" in read ? read : { route: read.value };
}
