// Who belongs to whom: the members of a process tree, found in the process table.
//
// K1  A member is a descendant of a member; or in a session or group that a member leads or led; or carries the marker in
//     its environment. The last is how a daemon is found that forked twice, took a session of its own and was adopted.
// K2  Once a member, always a member: a process whose parent died is still looked after, with its descendants.
// K3  This process and its ancestors are never members, whatever they carry.

import { carries, type Marker, type ProcessEntry, type ProcessId } from "./table.ts";

/** The members of one tree over time. */
export class Kin {
  readonly #marker: Marker;
  readonly #roots: readonly ProcessId[];
  readonly #known = new Map<number, number>();
  /** Sessions and groups that a member led and that still have members: such an id is not given out again. */
  #led: ReadonlySet<number> = new Set();

  /** `roots`: the first members, as far as they are known already; each leads a session. */
  constructor(marker: Marker, roots: readonly ProcessId[]) {
    this.#marker = marker;
    this.#roots = roots;
    this.#remember([]);
  }

  /** Every member that runs now, carriers of the marker included. Reads every environment: the costly search. */
  search(table: readonly ProcessEntry[]): readonly ProcessEntry[] {
    return this.#find(table, (entry) => carries(entry.pid, this.#marker));
  }

  /** The members as far as descent, sessions and groups show them. */
  relations(table: readonly ProcessEntry[]): readonly ProcessEntry[] {
    return this.#find(table, () => false);
  }

  #find(table: readonly ProcessEntry[], isCarrier: (entry: ProcessEntry) => boolean): readonly ProcessEntry[] {
    const spared = lineOf(process.pid, table);
    const others = table.filter(({ pid }) => !spared.has(pid));
    const isKnown = ({ pid, startTime }: ProcessId) => this.#known.get(pid) === startTime;
    const first = others.filter((entry) => isKnown(entry) || isCarrier(entry));
    const members = this.#withRelated(first, others, new Set(table.map(({ pid }) => pid)));
    this.#remember(members);
    return members;
  }

  #withRelated(
    first: readonly ProcessEntry[],
    others: readonly ProcessEntry[],
    running: ReadonlySet<number>,
  ): readonly ProcessEntry[] {
    const members = new Map(first.map((entry) => [entry.pid, entry]));
    const isLed = (id: number) => members.has(id) || (this.#led.has(id) && !running.has(id));
    for (let before = -1; before < members.size; ) {
      before = members.size;
      for (const entry of others) {
        if (members.has(entry.parent) || isLed(entry.session) || isLed(entry.group)) members.set(entry.pid, entry);
      }
    }
    return [...members.values()];
  }

  #remember(members: readonly ProcessEntry[]): void {
    this.#known.clear();
    for (const { pid, startTime } of [...this.#roots, ...members]) this.#known.set(pid, startTime);
    const inUse = members.flatMap(({ session, group }) => [session, group]);
    const led = inUse.filter((id) => this.#known.has(id) || this.#led.has(id));
    this.#led = new Set([...this.#roots.map(({ pid }) => pid), ...led]);
  }
}

/** A process and its ancestors. */
function lineOf(pid: number, table: readonly ProcessEntry[]): ReadonlySet<number> {
  const parents = new Map(table.map((entry) => [entry.pid, entry.parent]));
  const line = new Set<number>();
  for (let at: number | undefined = pid; at !== undefined && !line.has(at); at = parents.get(at)) line.add(at);
  return line;
}
