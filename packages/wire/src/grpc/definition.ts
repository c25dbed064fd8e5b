// From a protobuf-es service to grpc-js' definition of it.
//
// A response may be given as a message or as bytes that are one already: a gateway forwards a stream's messages without
// decoding them.
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

/** In place of a request that is larger than the service takes; its handler answers MESSAGE_TOO_LARGE. */
export class OversizedRequest {
  readonly bytes: number;
  readonly limitBytes: number;
  constructor(bytes: number, limitBytes: number) {
    this.bytes = bytes;
    this.limitBytes = limitBytes;
  }
}

export function serviceDefinition(
  desc: DescService,
  maxRequestBytes: number,
): ServiceDefinition<UntypedServiceImplementation> {
  return Object.fromEntries(desc.methods.map((method) => [method.name, methodDefinition(method, maxRequestBytes)]));
}

export function methodPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

export function encoder(desc: DescMessage): (message: unknown) => Buffer {
  return (message) => {
    if (message instanceof Uint8Array) return asBuffer(message);
    return asBuffer(toBinary(desc, create(desc, message as MessageShape<DescMessage>)));
  };
}

export function decoder<Desc extends DescMessage>(desc: Desc): (bytes: Buffer) => MessageShape<Desc> {
  return (bytes) => fromBinary(desc, bytes);
}

function methodDefinition(method: DescMethod, maxRequestBytes: number): MethodDefinition<unknown, unknown> {
  const decode = decoder(method.input);
  return {
    path: methodPath(method),
    originalName: method.localName,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: encoder(method.input),
    requestDeserialize: (bytes) =>
      bytes.byteLength > maxRequestBytes ? new OversizedRequest(bytes.byteLength, maxRequestBytes) : decode(bytes),
    responseSerialize: encoder(method.output),
    responseDeserialize: decoder(method.output),
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
