// `npm run gateway`: one gateway as a process of its own.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describeSettings, runProgram, systemClock, tellParent } from "@holdfast/runtime";
import { openSqliteStore } from "@holdfast/store";
import { startGateway } from "./gateway.ts";

/** Longer than the gateway's own bounds together. */
const CLOSE_BOUND_MS = 4_000;

await runProgram({
  name: "gateway",
  service: "gateway",
  async start({ settings, log, telemetry, life }) {
    log.info("settings", { detail: describeSettings(settings) });
    const openStore = async () => {
      await mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
      return openSqliteStore({ file: join(settings.dataDir, "holdfast.db") });
    };
    const gateway = await startGateway({ settings, log, telemetry, clock: systemClock, openStore });
    life.closing("gateway", gateway.close, CLOSE_BOUND_MS);
    log.info("listening", { address: settings.host, port: gateway.port });
    tellParent(life, { kind: "ready", address: `${settings.host}:${gateway.port}` });
  },
});
