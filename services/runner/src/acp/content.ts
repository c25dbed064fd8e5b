// Content blocks, from ACP's shape to the contract's. The way back is wire's: its plain blocks have ACP's shape.

import { create } from "@bufbuild/protobuf";
import { type ContentBlock, ContentBlockSchema } from "@holdfast/proto";
import { sha256 } from "@holdfast/runtime";
import { fromPlainBlock } from "@holdfast/wire";
import type { z } from "zod";
import type { contentBlockShape } from "./shapes.ts";

/** The contract has no sound: of it stays what it was. */
export function toBlock(block: z.output<typeof contentBlockShape>): ContentBlock {
  if (block.type !== "audio") return fromPlainBlock(block);
  const data = Buffer.from(block.data, "base64");
  return omitted({ kind: "audio", name: "", mimeType: block.mimeType, bytes: data });
}

/** Stands for something that is not shown. */
export function omitted(what: {
  readonly kind: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}): ContentBlock {
  const { kind, name, mimeType, bytes } = what;
  const value = { kind, name, mimeType, sizeBytes: BigInt(bytes.length), digest: sha256(bytes) };
  return create(ContentBlockSchema, { block: { case: "omitted", value } });
}
