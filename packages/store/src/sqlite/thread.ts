// The thread that holds the database: it opens the file it was started with, then answers calls until it is ended.
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { serve, tellGrown } from "./channel.ts";
import { openDesk } from "./desk.ts";

if (parentPort === null) throw new Error("this file runs in a thread that openSqliteStore starts");
const port = parentPort;
const { file } = z.object({ file: z.string() }).parse(workerData);
serve(
  port,
  openDesk(file, (keys) => tellGrown(port, keys)),
);
