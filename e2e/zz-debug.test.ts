import { it } from "vitest";
import { scripted } from "./src/catalogue.ts";
import { Stack } from "./src/stack.ts";
it("debug", async () => {
  const stack = await Stack.start({ agents: [scripted("early", "--early-gate")], settings: { HOLDFAST_LOG_LEVEL: "debug" } });
  try {
    const one = stack.caller();
    for (const s of ["a", "b", "c"]) {
    const seen = await one.turn(s, "say hello", { agent: "early", follow: 2 });
    console.log(seen.kinds);
    }
    console.log(stack.runner.log.split("\n").filter((l) => l.includes("noise")).join("\n"));
  } finally {
    await stack.close();
  }
}, 60000);
