// The pool's limits (A3, A10). A time that a caller may choose has a default and a maximum; the others are fixed.

/** How long a process is kept between turns, unless the caller says otherwise. */
export const IDLE_TTL_MS = 60_000;
/** How long a process is kept while only humans are waited for. */
export const APPROVAL_TTL_MS = 300_000;
/** How long one turn may run; it stands still while the execution is parked and nothing is sending. */
export const TURN_LIMIT_MS = 1_800_000;
/** How long a process may take from its seat to a ready ACP session. */
export const START_LIMIT_MS = 60_000;

/** The most a caller can ask for. */
export const IDLE_TTL_MAX_MS = 86_400_000;
export const APPROVAL_TTL_MAX_MS = 86_400_000;
export const TURN_LIMIT_MAX_MS = 14_400_000;

/** From the admission of a Stop until the prompt must have settled (A10). */
export const CANCEL_BOUND_MS = 10_000;
/** How long a proposed eviction of a waiting slot may stay unanswered, or refused without any change, before it is proposed again (A20). */
export const EVICTION_RECHECK_MS = 5_000;
/** How long a seat is kept for a session that was told to wait for it; longer than any teardown takes. */
export const ROOM_CLAIM_MS = 10_000;
