export { type Gateway, type GatewayParts, startGateway } from "./gateway.ts";
