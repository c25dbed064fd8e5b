// The token that gateways show to runners, from the file that HOLDFAST_GATEWAY_TOKEN_FILE names: both read it by one rule.
import { readFile } from "node:fs/promises";

/** More than this is no token but another file. */
export const GATEWAY_TOKEN_CHARACTERS = 4_096;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** Without the white space around it. Throws when the file cannot be read or holds anything but one token. */
export async function readGatewayToken(path: string): Promise<string> {
  const token = (await readFile(path, "utf8")).trim();
  if (token.length <= GATEWAY_TOKEN_CHARACTERS && PRINTABLE.test(token)) return token;
  throw new Error(
    `HOLDFAST_GATEWAY_TOKEN_FILE ${path} must hold one token of 1 to ${GATEWAY_TOKEN_CHARACTERS} printable characters`,
  );
}
