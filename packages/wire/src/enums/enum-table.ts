// One way to hold a closed union of the pool and an open enum of the contract side by side.
//
// T1  Every name has a value: the table's type is exhaustive, so a name added to a union does not compile without one.
// T2  No two names share a value, and none has the value 0: UNSPECIFIED is never a name of ours.
// T3  A number we do not know is null, never a guess: enums on the wire are open.

export type EnumTable<Name extends string, Value extends number> = {
  /** Every name, in the table's order. */
  readonly names: readonly Name[];
  /** The contract's value of a name. */
  toWire(name: Name): Value;
  /** The name of a value; null for UNSPECIFIED and for values of a newer contract. */
  fromWire(value: number): Name | null;
};

export function enumTable<Name extends string, Value extends number>(
  values: Readonly<Record<Name, Value>>,
): EnumTable<Name, Value> {
  const names = Object.keys(values) as Name[];
  const byValue = new Map<number, Name>();
  for (const name of names) {
    const value: number = values[name];
    if (value === 0 || byValue.has(value)) throw new Error(`T2: ${name} has no value of its own (${value})`);
    byValue.set(value, name);
  }
  return {
    names,
    toWire: (name) => values[name],
    fromWire: (value) => byValue.get(value) ?? null,
  };
}
