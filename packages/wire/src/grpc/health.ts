// grpc.health.v1.Health: the whole server ("") and each service, serving or not.
import type { DescService } from "@bufbuild/protobuf";
import type { Server } from "@grpc/grpc-js";
import { HealthImplementation, type ServingStatusMap } from "grpc-health-check";

export type Health = {
  /** Watchers are told at once. */
  setServing(serving: boolean): void;
};

/** Not serving until setServing(true). */
export function addHealth(server: Server, services: readonly DescService[]): Health {
  const names = ["", ...services.map(({ typeName }) => typeName)];
  const initial: ServingStatusMap = Object.fromEntries(names.map((name) => [name, "NOT_SERVING"]));
  const implementation = new HealthImplementation(initial);
  implementation.addToServer(server);
  return {
    setServing(serving) {
      for (const name of names) implementation.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
    },
  };
}
