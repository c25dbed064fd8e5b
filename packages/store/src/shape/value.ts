// The small values that shapes are made of, and the comparison of a shape with the type it stands for.
import { z } from "zod";

/** A whole number from 0 that never leaves the range in which numbers are exact. */
export const count = z.int().nonnegative();

/** Milliseconds since 1970. */
export const millis = z.int();

/** The same type with nothing readonly: shapes infer mutable types. */
type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
    : T;

/** `true` when a shape lets through what the type says and nothing else; otherwise `false`, and the file does not compile. */
export type Exactly<Type, Shape> = [Shape] extends [Mutable<Type>]
  ? [Mutable<Type>] extends [Shape]
    ? true
    : false
  : false;
