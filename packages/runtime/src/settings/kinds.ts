// The kinds of value a setting can have: how each is written, read, bounded and printed again.
//
// Every kind reads text and nothing else (environment variables have no other type), and prints a value in a form
// that it reads back to the same value.

import { isIP } from "node:net";
import { z } from "zod";

/** How values of one type are written: `label` is the kind's name in the documentation. */
export interface Kind<T> {
  readonly label: string;
  readonly schema: z.ZodType<T, string>;
  readonly print: (value: T) => string;
}

/** Bounds, both included. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** A share of what the machine or its control group has, in percent, or an absolute number of bytes. */
export type Size =
  | { readonly kind: "bytes"; readonly bytes: number }
  | { readonly kind: "percent"; readonly percent: number };

/** A name or an IP address, with a port; an IPv6 address is written in brackets. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;
const PORT_MAX = 65_535;
const HOST_CHARACTERS = 253;

/** `250ms`, `300s`, `5m`, `24h`, `7d`; a plain `0` needs no unit. The value is in milliseconds. */
export function duration(range: Range = {}): Kind<number> {
  return {
    label: "duration",
    schema: z
      .string()
      .regex(/^(0|\d{1,12}(ms|s|m|h|d))$/, "is not a duration like 250ms, 300s, 5m, 24h or 7d")
      .transform((text) => scaled(text, MILLISECONDS))
      .pipe(within(range, printDuration)),
    print: printDuration,
  };
}

/** `4MiB` (B, KiB, MiB, GiB) or `75%` (1 to 100). */
export function size(): Kind<Size> {
  return {
    label: "size",
    schema: z
      .string()
      .regex(/^(\d{1,9}(B|KiB|MiB|GiB)|\d{1,3}%)$/, "is not a size like 512KiB, 4MiB, 2GiB or 75%")
      .transform(
        (text): Size =>
          text.endsWith("%")
            ? Object.freeze({ kind: "percent", percent: Number.parseInt(text, 10) })
            : Object.freeze({ kind: "bytes", bytes: scaled(text, BYTES) }),
      )
      .refine(({ kind, ...amount }) => kind === "bytes" || isPercent(amount), "must be between 1% and 100%")
      .refine((value) => value.kind === "percent" || value.bytes > 0, "must be more than nothing"),
    print: (value) => (value.kind === "percent" ? `${value.percent}%` : printScaled(value.bytes, BYTES)),
  };
}

/** A whole number without a unit. */
export function integer(range: Range): Kind<number> {
  return {
    label: "integer",
    schema: z
      .string()
      .regex(/^-?\d{1,15}$/, "is not a whole number")
      .transform(Number)
      .pipe(within(range, String)),
    print: String,
  };
}

/** A TCP port; 0 lets the system choose a free one. */
export function port(): Kind<number> {
  return { ...integer({ min: 0, max: PORT_MAX }), label: "port" };
}

/** A host name or an IP address. */
export function host(): Kind<string> {
  return {
    label: "host",
    schema: z.string().refine(isHost, "is not a host name or an IP address"),
    print: String,
  };
}

/** `host:port`, `[::1]:7420`. Port 0 is no address that anybody could dial. */
export function address(): Kind<Address> {
  return {
    label: "address",
    schema: z
      .string()
      .transform(toAddress)
      .pipe(z.custom<Address>((value) => value !== null, "is not an address like runner-0:7421 or [::1]:7421")),
    print: (value) => (isIP(value.host) === 6 ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`),
  };
}

/** A file or directory, taken relative to the working directory. */
export function path(): Kind<string> {
  return {
    label: "path",
    schema: z.string().refine((text) => !text.includes("\0"), "contains a NUL character"),
    print: String,
  };
}

/** One word that can stand in a key: letters, digits, `.`, `_`, `-`, at most 64 characters. */
export function word(): Kind<string> {
  return {
    label: "name",
    schema: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "is not a name of letters, digits, '.', '_' and '-'"),
    print: String,
  };
}

/** One or more URLs of the given schemes, separated by commas. Printed without the credentials they may carry. */
export function urls(schemes: readonly string[]): Kind<string> {
  return {
    label: "url",
    schema: z
      .string()
      .refine((text) => text.split(",").every((part) => isUrl(part, schemes)), `is not a ${schemes.join(" or ")} URL`),
    print: (text) => text.replaceAll(/\/\/[^/@,]*@/g, "//[redacted]@"),
  };
}

/** One of a few words. */
export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values): Kind<Values[number]> {
  return {
    label: values.join(" or "),
    schema: z.string().pipe(z.enum(values, `is not one of ${values.join(", ")}`)) as z.ZodType<Values[number], string>,
    print: String,
  };
}

/** Whether only this machine can reach a host. */
export function isLoopback(name: string): boolean {
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  const plain = name.toLowerCase().replace(/^::ffff:/, "");
  return isIP(plain) === 4 ? plain.startsWith("127.") : plain === "::1";
}

function within(range: Range, print: (value: number) => string): z.ZodNumber {
  const { min, max } = range;
  let bounded = z.number();
  if (min !== undefined) bounded = bounded.min(min, `must be at least ${print(min)}`);
  if (max !== undefined) bounded = bounded.max(max, `must be at most ${print(max)}`);
  return bounded;
}

function scaled(text: string, units: Readonly<Record<string, number>>): number {
  const unit = text.replace(/^\d+/, "");
  return Number.parseInt(text, 10) * (units[unit] ?? 1);
}

function printDuration(milliseconds: number): string {
  return milliseconds === 0 ? "0s" : printScaled(milliseconds, MILLISECONDS);
}

/** In the largest unit that needs no fraction. */
function printScaled(amount: number, units: Readonly<Record<string, number>>): string {
  const [unit, factor] = Object.entries(units).findLast(([, each]) => amount % each === 0) ?? ["", 1];
  return `${amount / factor}${unit}`;
}

function isPercent(amount: { bytes?: number; percent?: number }): boolean {
  return amount.percent !== undefined && amount.percent >= 1 && amount.percent <= 100;
}

function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return (
    text.length <= HOST_CHARACTERS && /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text) && !/^[\d.]+$/.test(text)
  );
}

function toAddress(text: string): Address | null {
  const [, bracketed, plain, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:]+)):(\d{1,5})$/.exec(text) ?? [];
  const name = bracketed ?? plain ?? "";
  const number = Number(digits);
  const known = bracketed === undefined ? isHost(name) : isIP(name) === 6;
  return known && number >= 1 && number <= PORT_MAX ? Object.freeze({ host: name, port: number }) : null;
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  const url = URL.parse(text);
  return url !== null && url.hostname !== "" && schemes.includes(url.protocol.slice(0, -1));
}
