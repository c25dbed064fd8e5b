export * from "./change.ts";
export * from "./journal.ts";
export * from "./outbox.ts";
export * from "./owner.ts";
export * from "./read.ts";
export * from "./settle.ts";
export * from "./unfinished.ts";
