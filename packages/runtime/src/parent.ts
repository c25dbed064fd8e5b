// A service that a launcher started: it tells when it is ready, and does not outlive its launcher.

import type { ProcessLife } from "./process.ts";

/** What a child tells its launcher, over Node's channel between the two. */
export type ChildNews = { readonly kind: "ready"; readonly address: string };

/** With no launcher nothing is told, and the process lives for itself. One that is gone by now has to be noticed here. */
export function tellParent(life: ProcessLife, news: ChildNews): void {
  if (process.send === undefined) return;
  process.on("disconnect", () => void life.end("launcher_gone"));
  if (process.connected) process.send(news);
  else void life.end("launcher_gone");
}

export function isChildNews(message: unknown): message is ChildNews {
  return typeof message === "object" && message !== null && (message as { kind?: unknown }).kind === "ready";
}
