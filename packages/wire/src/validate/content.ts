// Content blocks of a prompt or of the caller's transcript.
import type { ContentBlock } from "@holdfast/proto";
import { BLOCK_NAME_CHARACTERS, MIME_TYPE_CHARACTERS, URI_CHARACTERS } from "./limits.ts";
import { checkText } from "./text.ts";
import type { Violations } from "./violations.ts";

const MIME_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(?:;.*)?$/;

export function checkBlocks(found: Violations, field: string, blocks: readonly ContentBlock[]): void {
  for (const [index, block] of blocks.entries()) checkBlock(found, `${field}[${index}]`, block);
}

function checkBlock(found: Violations, field: string, { block }: ContentBlock): void {
  switch (block.case) {
    case "text":
      found.check(block.value.text !== "", `${field}.text.text`, "must not be empty");
      return;
    case "image":
      found.check(block.value.data.byteLength > 0, `${field}.image.data`, "is required");
      checkUri(found, `${field}.image.uri`, block.value.uri, false);
      if (checkMimeType(found, `${field}.image.mime_type`, block.value.mimeType, true)) {
        found.check(block.value.mimeType.startsWith("image/"), `${field}.image.mime_type`, "must begin with image/");
      }
      return;
    case "resourceLink": {
      const at = `${field}.resource_link`;
      const { uri, name, title, description, mimeType, sizeBytes } = block.value;
      checkUri(found, `${at}.uri`, uri, true);
      found.check(name !== "", `${at}.name`, "is required");
      checkText(found, `${at}.name`, name, BLOCK_NAME_CHARACTERS);
      checkText(found, `${at}.title`, title, BLOCK_NAME_CHARACTERS);
      checkText(found, `${at}.description`, description, BLOCK_NAME_CHARACTERS);
      checkMimeType(found, `${at}.mime_type`, mimeType, false);
      found.check(sizeBytes >= 0n, `${at}.size_bytes`, "must not be negative");
      found.check(sizeBytes <= BigInt(Number.MAX_SAFE_INTEGER), `${at}.size_bytes`, "is larger than 2^53 - 1");
      return;
    }
    case "embeddedResource": {
      const at = `${field}.embedded_resource`;
      checkUri(found, `${at}.uri`, block.value.uri, true);
      checkMimeType(found, `${at}.mime_type`, block.value.mimeType, false);
      found.check(block.value.content.case !== undefined, `${at}.content`, "needs one of text, blob");
      return;
    }
    case "omitted":
      found.add(`${field}.omitted`, "belongs in events only");
      return;
    case undefined:
      found.add(`${field}.block`, "needs one of text, image, resource_link, embedded_resource");
      return;
  }
}

function checkUri(found: Violations, field: string, uri: string, required: boolean): void {
  if (required && !found.check(uri !== "", field, "is required")) return;
  checkText(found, field, uri, URI_CHARACTERS);
}

function checkMimeType(found: Violations, field: string, mimeType: string, required: boolean): boolean {
  if (mimeType === "") return found.check(!required, field, "is required") && false;
  return found.check(
    mimeType.length <= MIME_TYPE_CHARACTERS && MIME_TYPE.test(mimeType),
    field,
    `is not a media type of at most ${MIME_TYPE_CHARACTERS} characters`,
  );
}
