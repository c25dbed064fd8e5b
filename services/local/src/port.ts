// Whether the gateway will get its port, asked before anything is written: a start that cannot work changes nothing.
import { once } from "node:events";
import { createServer } from "node:net";

/** The address cannot be had. Nothing was changed. */
export class PortRefused extends Error {
  override readonly name = "PortRefused";
}

/** Throws PortRefused. Port 0 is always free. Somebody may still take the port afterwards: then the gateway says so. */
export async function refuseTakenPort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  try {
    probe.listen({ host, port, exclusive: true });
    await once(probe, "listening");
  } catch (error) {
    throw new PortRefused(`cannot listen on ${host} port ${port}: ${whyNot(error)}; nothing was changed`, {
      cause: error,
    });
  }
  probe.close();
  await once(probe, "close");
}

function whyNot(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") {
    return "another process listens there, perhaps Holdfast already; end it, or set HOLDFAST_PORT to a free one (and HOLDFAST_DATA_DIR to another directory, if it is Holdfast)";
  }
  return `${code ?? message}; set HOLDFAST_HOST and HOLDFAST_PORT to what this machine has`;
}
