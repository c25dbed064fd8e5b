// Metadata of a call: the bearer token, and trace context.
import { Metadata } from "@grpc/grpc-js";
import type { TraceCarrier } from "./tracing.ts";

const AUTHORIZATION = "authorization";
const BEARER = /^bearer +(\S+) *$/i;

/** Metadata with the token a client presents. */
export function bearerMetadata(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set(AUTHORIZATION, `Bearer ${token}`);
  return metadata;
}

/** The token of an `authorization` header; null when there is none, or when it is no bearer token. */
export function bearerToken(header: string | null): string | null {
  return header === null ? null : (BEARER.exec(header)?.[1] ?? null);
}

/** A header's one value. Null when it is not there, is binary, or was sent more than once: then no value can be trusted. */
export function headerOf(metadata: Metadata, name: string): string | null {
  const values = metadata.get(name);
  const [value] = values;
  return values.length === 1 && typeof value === "string" ? value : null;
}

export function traceCarrier(metadata: Metadata): TraceCarrier {
  return {
    get: (key) => headerOf(metadata, key) ?? undefined,
    set: (key, value) => metadata.set(key, value),
  };
}
