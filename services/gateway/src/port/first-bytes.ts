// Which protocol a new connection speaks, by its first bytes: HTTP/2 begins with a preface that no HTTP/1 request can begin
// with. Nothing is taken from the connection: who serves it reads it from its beginning.
import type { Socket } from "node:net";
import type { Clock } from "@holdfast/runtime";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A connection that has not said what it speaks by then is closed. */
export const FIRST_BYTES_MS = 10_000;

export type Protocol = "http1" | "http2";

/** Calls back once, or never when the connection ends or stays silent. */
export function onProtocol(socket: Socket, clock: Pick<Clock, "timer">, speaks: (protocol: Protocol) => void): void {
  let seen = Buffer.alloc(0);
  const silent = clock.timer(FIRST_BYTES_MS, () => socket.destroy());
  const leave = (): void => {
    silent.cancel();
    socket.off("readable", look);
    socket.off("close", leave);
    socket.off("error", leave);
  };
  // `readable` and read(): a listener for `data` would set the connection flowing, and HTTP/2 would lose its beginning.
  const look = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    const isPreface = seen.subarray(0, length).equals(PREFACE.subarray(0, length));
    if (isPreface && length < PREFACE.length) return;
    leave();
    socket.unshift(seen);
    speaks(isPreface ? "http2" : "http1");
  };
  socket.on("readable", look);
  socket.on("close", leave);
  socket.on("error", leave);
}
