// Secrets of one call: a name, a value, maybe an end. A value is never in a violation, a log or a record; what leaves this
// file is the map the runner hands to the agent.
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Secret } from "@holdfast/proto";
import { SECRET_NAME_CHARACTERS, SECRET_VALUE_BYTES, SECRETS } from "./limits.ts";
import { bytesOf, checkNoNul } from "./text.ts";
import { atKey, type Violations } from "./violations.ts";

/** `expiresAtMs` is in milliseconds since 1970, null when the secret does not end. */
export type SecretValue = { readonly value: string; readonly expiresAtMs: number | null };

const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const SECONDS_MIN = -62_135_596_800n;
const SECONDS_MAX = 253_402_300_799n;
const NANOS_PER_SECOND = 1_000_000_000;

/** `nowMs`: a secret that is over when it comes is refused, so that nothing starts with it. */
export function checkSecrets(
  found: Violations,
  field: string,
  secrets: Readonly<Record<string, Secret>>,
  nowMs: number,
): void {
  const entries = Object.entries(secrets);
  if (!found.check(entries.length <= SECRETS, field, `has more than ${SECRETS} entries`)) return;
  for (const [name, secret] of entries) {
    const at = atKey(field, name);
    checkSecretName(found, at, name);
    found.check(secret.value !== "", `${at}.value`, "is required");
    found.check(
      bytesOf(secret.value) <= SECRET_VALUE_BYTES,
      `${at}.value`,
      `is larger than ${SECRET_VALUE_BYTES} bytes`,
    );
    checkNoNul(found, `${at}.value`, secret.value);
    if (secret.expiresAt !== undefined) checkEnd(found, `${at}.expires_at`, secret.expiresAt, nowMs);
  }
}

export function checkSecretName(found: Violations, field: string, name: string): void {
  found.check(
    name.length <= SECRET_NAME_CHARACTERS && SECRET_NAME.test(name),
    field,
    `is not a secret's name: a letter or _, then letters, digits, _ . -, at most ${SECRET_NAME_CHARACTERS} characters`,
  );
}

export function plainSecrets(secrets: Readonly<Record<string, Secret>>): ReadonlyMap<string, SecretValue> {
  return new Map(
    Object.entries(secrets).map(([name, { value, expiresAt }]) => [
      name,
      { value, expiresAtMs: expiresAt === undefined ? null : timestampMs(expiresAt) },
    ]),
  );
}

function checkEnd(found: Violations, field: string, end: Timestamp, nowMs: number): void {
  const whole = end.seconds >= SECONDS_MIN && end.seconds <= SECONDS_MAX;
  if (!found.check(whole && end.nanos >= 0 && end.nanos < NANOS_PER_SECOND, field, "is not a timestamp")) return;
  found.check(timestampMs(end) > nowMs, field, "is over already");
}
