// Every limit of a request, in one place. The unit is the last word of the name; `validate.test.ts` proves each.

export const SESSION_ID_CHARACTERS = 128;
/** Ids that we mint ourselves and callers send back: gates, turns, options. */
export const MINTED_ID_CHARACTERS = 256;
/** idempotency_key and request_id (D5). */
export const KEY_CHARACTERS = 256;
export const AGENT_NAME_CHARACTERS = 64;
export const DIGEST_CHARACTERS = 128;
export const CHANNEL_CHARACTERS = 64;
export const NOTE_BYTES = 16 * 1024;

export const PROMPT_BLOCKS = 256;
export const HISTORY_BYTES = 1024 * 1024;
export const URI_CHARACTERS = 8_192;
export const MIME_TYPE_CHARACTERS = 255;
export const BLOCK_NAME_CHARACTERS = 1_024;

export const LABEL_KEY_CHARACTERS = 63;
export const LABEL_VALUE_CHARACTERS = 256;

export const SECRETS = 64;
export const SECRET_NAME_CHARACTERS = 128;
export const SECRET_VALUE_BYTES = 64 * 1024;

export const MODEL_CHARACTERS = 256;
export const MCP_SERVERS = 32;
export const MCP_NAME_CHARACTERS = 64;
export const MCP_ARGS = 256;
export const MCP_VALUES = 128;
export const PATH_CHARACTERS = 4_096;
export const PERMISSION_RULES = 256;
export const RULE_TEXT_CHARACTERS = 1_024;

export const PAGE_DEFAULT_ENTRIES = 50;
export const PAGE_MAX_ENTRIES = 500;
export const PAGE_TOKEN_CHARACTERS = 1_024;

/** Server maxima of contract and rule A3, unless the settings lower them. */
export const TURN_LIMIT_MAX_MS = 4 * 60 * 60 * 1_000;
export const IDLE_TTL_MAX_MS = 24 * 60 * 60 * 1_000;
export const APPROVAL_TTL_MAX_MS = 24 * 60 * 60 * 1_000;

/** Violations named in one refusal; one more says that there were more. */
export const VIOLATIONS_LISTED = 1_000;
