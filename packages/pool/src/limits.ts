// Every limit that belongs to the protocol rather than to one service's settings. The unit is the last word of the name.

/** Gates one session may hold open at once (A6). */
export const OPEN_GATES_PER_SESSION = 32;
/** Encoded size of one session's record (D). */
export const RECORD_BYTES = 256 * 1024;
/** The readable piece of a large payload that the record keeps (D). */
export const PREVIEW_CHARACTERS = 2_000;
/** Operation ids kept in a record as a shortcut for recognising a write (D1). */
export const OPERATIONS_KEPT = 8;
/** Closed gates kept in a record, the newest, and their encoded size together; whichever is reached first (D5). */
export const TOMBSTONES_KEPT = 256;
export const TOMBSTONE_BYTES = 96 * 1024;
/** What answers with an undelivered denial note (C7) may take of a record together, open or closed. */
export const NOTES_BYTES = 32 * 1024;
/**
 * How full a record may become, without the closed gates that it may drop: past the first no gate opens, past the second no
 * answer is taken. What is left up to RECORD_BYTES is for deliveries, a Stop, a loss and an ending, which always fit.
 */
export const GATE_ROOM_BYTES = 176 * 1024;
export const ANSWER_ROOM_BYTES = 224 * 1024;
/** Turns whose request_id is remembered (D15). */
export const REQUESTS_KEPT = 64;
/** Stops whose idempotency key is remembered. */
export const STOPS_KEPT = 64;
/** What an ending keeps of the message of its error: it may be an agent's own. */
export const ERROR_MESSAGE_CHARACTERS = 4_000;
/** State events waiting in a record for their append (D14). */
export const OUTBOX_EVENTS = 128;
/** Deliveries of one command in one epoch before it is marked recoverable (D8). */
export const DELIVERY_ATTEMPTS = 3;
/** Swap attempts of one write, and the time they may take together (D1). */
export const SWAP_ATTEMPTS = 32;
export const SWAP_BUDGET_MS = 2_000;
/** Canonical arguments of one gate (B9). */
export const GATE_ARGUMENT_BYTES = 512 * 1024;
/** One event of the log. */
export const EVENT_BYTES = 768 * 1024;
/** Labels of a session. */
export const LABELS = 16;
/** Effective configuration of a session (C8): the record holds the whole of it. */
export const CONFIG_BYTES = 64 * 1024;
/** Watchers of one session through one gateway, and on one runner. */
export const WATCHERS_PER_SESSION = 32;
