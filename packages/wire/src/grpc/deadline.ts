// Deadlines do not travel by themselves: whoever calls on hands on the one it was given, as a moment (milliseconds since
// 1970), so that nobody needs a clock to do it.

/** A call's deadline; null when it has none. */
export function deadlineMs(deadline: Date | number): number | null {
  const ms = typeof deadline === "number" ? deadline : deadline.getTime();
  return Number.isFinite(ms) ? ms : null;
}

/** The one that comes first; null only when there is none. */
export function earliestDeadlineMs(...deadlines: readonly (number | null)[]): number | null {
  const given = deadlines.filter((each) => each !== null);
  return given.length === 0 ? null : Math.min(...given);
}
