// Deadlines do not travel by themselves: whoever calls on hands on the one it was given, as a moment (milliseconds since
// 1970), so that nobody needs a clock to do it.

/** A call's deadline; null when it has none. */
export function deadlineMs(deadline: Date | number): number | null {
  const ms = typeof deadline === "number" ? deadline : deadline.getTime();
  return Number.isFinite(ms) ? ms : null;
}
