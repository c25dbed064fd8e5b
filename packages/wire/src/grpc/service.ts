// A service with its handlers, ready for a grpc-js server.
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { serviceDefinition } from "./definition.ts";
import type { AnyHandlers, Handlers, RpcEdge } from "./handlers.ts";
import { type StreamHandler, serveStream } from "./server-stream.ts";
import { serveUnary, type UnaryHandler } from "./unary.ts";

export type GrpcService = {
  readonly desc: DescService;
  readonly definition: ServiceDefinition<UntypedServiceImplementation>;
  readonly implementation: UntypedServiceImplementation;
};

/** `maxRequestBytes`: above it a request is answered MESSAGE_TOO_LARGE and no handler sees it. */
export function grpcService<Desc extends DescService>(
  desc: Desc,
  handlers: Handlers<Desc>,
  edge: RpcEdge,
  maxRequestBytes: number,
): GrpcService {
  const untyped = handlers as unknown as AnyHandlers;
  const implementation = desc.methods.map((method) => {
    const handler = untyped[method.localName];
    if (handler === undefined) throw new Error(`${desc.typeName}/${method.name} has no handler`);
    const served =
      method.methodKind === "unary"
        ? serveUnary(method, handler as UnaryHandler, edge)
        : serveStream(method, handler as StreamHandler, edge);
    return [method.name, served];
  });
  return {
    desc,
    definition: serviceDefinition(desc, maxRequestBytes),
    implementation: Object.fromEntries(implementation),
  };
}
