// Content blocks as plain values. The plain shapes are those of ACP's JSON, so the runner hands a prompt's blocks to an agent
// as they are, and an agent's blocks come back the same way.
import { create } from "@bufbuild/protobuf";
import { type ContentBlock, ContentBlockSchema, type EmbeddedResourceBlock, type OmittedBlock } from "@holdfast/proto";

/** One piece of a prompt or of an agent's message. `data` and `blob` are base64. */
export type PlainBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string; readonly uri?: string }
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly title?: string;
      readonly description?: string;
      readonly mimeType?: string;
      /** In bytes. */
      readonly size?: number;
    }
  | { readonly type: "resource"; readonly resource: PlainResource };

export type PlainResource =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };

/** Throws for a block without a case: a checked request and our own events have none. */
export function toPlainBlock({ block }: ContentBlock): PlainBlock {
  switch (block.case) {
    case "text":
      return { type: "text", text: block.value.text };
    case "image": {
      const { data, mimeType, uri } = block.value;
      return { type: "image", data: base64(data), mimeType, ...given("uri", uri) };
    }
    case "resourceLink": {
      const { uri, name, title, description, mimeType, sizeBytes } = block.value;
      return {
        type: "resource_link",
        uri,
        name,
        ...given("title", title),
        ...given("description", description),
        ...given("mimeType", mimeType),
        ...(sizeBytes > 0n ? { size: Number(sizeBytes) } : {}),
      };
    }
    case "embeddedResource":
      return { type: "resource", resource: toPlainResource(block.value) };
    case "omitted":
      return { type: "text", text: omittedText(block.value) };
    case undefined:
      throw new Error("a content block without a case is refused before it gets here");
  }
}

export function fromPlainBlock(plain: PlainBlock): ContentBlock {
  switch (plain.type) {
    case "text":
      return create(ContentBlockSchema, { block: { case: "text", value: { text: plain.text } } });
    case "image": {
      const { data, mimeType, uri = "" } = plain;
      return create(ContentBlockSchema, { block: { case: "image", value: { data: bytes(data), mimeType, uri } } });
    }
    case "resource_link": {
      const { uri, name, title = "", description = "", mimeType = "", size = 0 } = plain;
      const sizeBytes = Number.isSafeInteger(size) && size > 0 ? BigInt(size) : 0n;
      const value = { uri, name, title, description, mimeType, sizeBytes };
      return create(ContentBlockSchema, { block: { case: "resourceLink", value } });
    }
    case "resource": {
      const { uri, mimeType = "" } = plain.resource;
      const content =
        "text" in plain.resource
          ? ({ case: "text", value: plain.resource.text } as const)
          : ({ case: "blob", value: bytes(plain.resource.blob) } as const);
      return create(ContentBlockSchema, { block: { case: "embeddedResource", value: { uri, mimeType, content } } });
    }
  }
}

function toPlainResource({ uri, mimeType, content }: EmbeddedResourceBlock): PlainResource {
  const base = { uri, ...given("mimeType", mimeType) };
  return content.case === "blob" ? { ...base, blob: base64(content.value) } : { ...base, text: content.value ?? "" };
}

/** What an agent is told in place of a block that the log no longer has. */
function omittedText({ kind, name, sizeBytes }: OmittedBlock): string {
  return `[${kind}${name === "" ? "" : ` ${name}`}, ${sizeBytes} bytes, not kept]`;
}

function given<Key extends string>(key: Key, value: string): { readonly [K in Key]?: string } {
  return value === "" ? {} : ({ [key]: value } as { readonly [K in Key]: string });
}

function base64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "base64"));
}
