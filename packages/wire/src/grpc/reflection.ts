// grpc.reflection: tools such as grpcurl learn the services from the server. The descriptors are those the code was generated
// from, with everything they import.
import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthService } from "@holdfast/proto";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Map<string, Buffer>();
  for (const { file } of [...services, HealthService]) collect(file, files);
  // Only the descriptors of this entry are read; it stands for a package as a loader of .proto files would make it.
  const contract = { format: "Protocol Buffer 3 DescriptorProto", type: {}, fileDescriptorProtos: [...files.values()] };
  const definition = { contract } as unknown as PackageDefinition;
  new ReflectionService(definition).addToServer(server);
}

function collect(file: DescFile, files: Map<string, Buffer>): void {
  if (files.has(file.proto.name)) return;
  files.set(file.proto.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
  for (const dependency of file.dependencies) collect(dependency, files);
}
