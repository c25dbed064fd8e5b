export { startLocal } from "./local.ts";
