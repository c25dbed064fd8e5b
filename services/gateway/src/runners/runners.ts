// The runners as this gateway reaches them. Addresses get reused, so before anything is sent to one it is asked who it is
// (E6): once for a connection, and again whenever the connection was lost.
import { type Refusal, refusal } from "@holdfast/pool";
import type { DescribePoolResponse } from "@holdfast/proto";
import {
  type ChannelWorld,
  openChannel,
  type Refused,
  type RunnerChannel,
  type RunnerReply,
  replyOf,
  type Unreachable,
} from "./channel.ts";

/** How long a runner may take to say who it is and how full. */
const DESCRIBE_MS = 1_000;

/** One boot of a runner at one address. */
export type RunnerAt = { readonly runner: string; readonly incarnation: string; readonly address: string };

/** Verified: the process at the other end is that incarnation. */
export type Reached = { readonly kind: "reached"; readonly channel: RunnerChannel } | Refused | Unreachable;

type Known = { readonly channel: RunnerChannel; verified: string | null };

export class Runners {
  private readonly known = new Map<string, Known>();
  private readonly world: ChannelWorld;

  constructor(world: ChannelWorld) {
    this.world = world;
  }

  /** Refused with NOT_OWNER when another process answers there. Nothing was sent to it but the question. */
  async reach(runner: RunnerAt, signal?: AbortSignal): Promise<Reached> {
    const known = this.at(runner.address);
    if (known.verified !== runner.incarnation) {
      const described = await this.describe(runner.address, signal);
      if (described.kind !== "reply") return described;
      const { incarnation } = described.reply;
      if (incarnation !== runner.incarnation) return { kind: "refused", refusal: somebodyElse(runner, incarnation) };
    }
    return { kind: "reached", channel: known.channel };
  }

  /** What the process at an address says of itself. */
  async describe(address: string, signal?: AbortSignal): Promise<RunnerReply<DescribePoolResponse>> {
    const known = this.at(address);
    const deadlineMs = this.world.clock.now() + DESCRIBE_MS;
    const options = { deadlineMs, ...(signal === undefined ? {} : { signal }) };
    const described = await replyOf(known.channel.rpc.describePool({}, options));
    if (described.kind === "reply") remember(known, described.reply.incarnation);
    return described;
  }

  /** Closes the connections to addresses that no runner has any more. */
  keepOnly(addresses: ReadonlySet<string>): void {
    for (const [address, { channel }] of this.known) {
      if (addresses.has(address)) continue;
      channel.close();
      this.known.delete(address);
    }
  }

  close(): void {
    this.keepOnly(new Set());
  }

  private at(address: string): Known {
    const known = this.known.get(address) ?? { channel: openChannel(address, this.world), verified: null };
    this.known.set(address, known);
    return known;
  }
}

/** Only for as long as this connection holds. */
function remember(known: Known, incarnation: string): void {
  if (known.verified === incarnation) return;
  const forget = (): void => {
    known.verified = null;
  };
  known.verified = known.channel.onceDisconnected(forget) ? incarnation : null;
}

function somebodyElse({ runner, incarnation, address }: RunnerAt, found: string): Refusal {
  return refusal(
    "NOT_OWNER",
    `at ${address}, where runner ${runner} ${incarnation} was, another process answers`,
    "read the session again and address its owner",
    { owner: runner, owner_incarnation: found },
  );
}
