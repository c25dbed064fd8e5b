// A choice of a closed set in a request: UNSPECIFIED takes the default, a number we do not know is a violation.
import type { EnumTable } from "../enums/enum-table.ts";
import type { Violations } from "./violations.ts";

/** Returns the default also for an unknown number; the violation then keeps the value from being used. */
export function chosen<Name extends string, Value extends number>(
  found: Violations,
  field: string,
  table: EnumTable<Name, Value>,
  value: number,
  byDefault: Name,
): Name {
  if (value === 0) return byDefault;
  const name = table.fromWire(value);
  if (name !== null) return name;
  found.add(field, `is not one of ${table.names.join(", ")}`);
  return byDefault;
}
