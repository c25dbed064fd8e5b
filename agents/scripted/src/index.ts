// What other packages may use of the scripted agent. The agent itself is a program: `@holdfast/scripted-agent/main`.

export { OPTIONS } from "./gate.ts";
export { type Command, NOISE_KINDS, type NoiseKind, parseLine, parsePrompt } from "./language.ts";
export { LEDGER_FILE, type LedgerLine, readLedger } from "./ledger.ts";
