// Digests, and the only way to compare secrets.

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** SHA-256 of the UTF-8 text or the bytes, 64 lower-case hexadecimal digits. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Drawn per process, so that what is compared cannot be chosen from outside. */
const COMPARISON_KEY = randomBytes(32);

/** Whether two secrets are equal, in a time that tells nothing about where or by how much they differ. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(comparable(one), comparable(other));
}

function comparable(secret: string): Buffer {
  return createHmac("sha256", COMPARISON_KEY).update(secret).digest();
}
