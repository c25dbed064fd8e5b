// `npm start`.
import { runProgram } from "@holdfast/runtime";
import { startLocal } from "./local.ts";

// For people at a terminal, unless they say otherwise: the children's logs are in files, ours only warns.
const quiet = { HOLDFAST_LOG_LEVEL: "error", ...process.env };
if (process.env.HOLDFAST_LOG === undefined) Object.assign(quiet, { HOLDFAST_LOG: "pretty" });

await runProgram({ name: "local", service: "gateway", start: startLocal }, quiet);
