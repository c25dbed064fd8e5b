export { startLocal } from "./local.ts";
export { type TourLine, tourLines } from "./tour.ts";
