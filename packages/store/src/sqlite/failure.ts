// What sqlite's errors mean to whoever has to do something about them. Its result codes: https://sqlite.org/rescode.html
import { StoreUnavailable } from "../unavailable.ts";

type SqliteError = Error & { readonly errcode: number; readonly errstr: string };

/** Extended codes hold the primary one in their low byte. */
const PRIMARY_CODE = 0xff;
const BUSY = 5;
const LOCKED = 6;
const PROTOCOL = 15;

/** The state of the file or the machine, not of our SQL: [what, what to do]. `$` stands for the file. */
const EXPLANATIONS: Readonly<Record<number, readonly [what: string, nextStep: string]>> = {
  3: ["access to database $ is refused", "give this user the right to read and write it"],
  [BUSY]: ["database $ is locked by another process", "try again; if it stays so, find who holds it, and stop that"],
  [LOCKED]: ["database $ is locked", "try again"],
  7: ["there is no memory left for database $", "give this process more memory"],
  8: ["database $ is read-only", "make the file and its directory writable for this user"],
  10: ["database $ cannot be read or written", "look for a failed or full disk and for limits on file size"],
  11: ["database $ is damaged", "stop every process that uses it and restore it from a copy"],
  13: ["there is no room left on disk for database $", "free some space"],
  14: ["database $ cannot be opened", "its directory must exist and be writable for this user"],
  [PROTOCOL]: ["database $ is locked by another process", "try again"],
  22: ["the file system cannot hold database $", "move it to one that allows files of this size"],
  26: ["file $ is not a database", "name another file, or restore this one from a copy"],
};

/** The StoreUnavailable that stands for this error, or the error itself when it is no failure of file or machine. */
export function explain(error: unknown, file: string): unknown {
  if (!isSqliteError(error)) return error;
  const explanation = EXPLANATIONS[error.errcode & PRIMARY_CODE];
  if (explanation === undefined) return error;
  const [what, nextStep] = explanation;
  return new StoreUnavailable(`${what.replace("$", () => file)} (${error.errstr})`, nextStep, { cause: error });
}

/** Somebody else holds what this needed: the same again, a little later, may work. */
export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && [BUSY, LOCKED, PROTOCOL].includes(error.errcode & PRIMARY_CODE);
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}
