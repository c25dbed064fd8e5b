// A request whose sender is gone before anything can come back: what a page sends while it closes.
import { once } from "node:events";
import { connect } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";

/** Sends a unary call as Connect's JSON and cuts the connection. All of it is on its way when the promise resolves. */
export async function sendAndLeave(address: string, rpc: string, request: JsonObject): Promise<void> {
  const [host = "", port = ""] = address.split(":");
  const body = JSON.stringify(request);
  const head = [
    `POST /holdfast.v1.SessionService/${rpc} HTTP/1.1`,
    `host: ${address}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  const socket = connect(Number(port), host);
  await once(socket, "connect");
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`, () => resolve());
  });
  socket.destroy();
}
