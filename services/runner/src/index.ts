export { type Runner, type RunnerWanted, startRunner } from "./runner.ts";
