// The product's version: that of the root package.json, read once.

import { readFileSync } from "node:fs";
import { z } from "zod";

const ROOT_PACKAGE = new URL("../../../package.json", import.meta.url);

export const VERSION: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(ROOT_PACKAGE, "utf8"))).version;
