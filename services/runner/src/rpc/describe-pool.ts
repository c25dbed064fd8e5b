// DescribePool: who this runner is and how full its pool is. Also how a gateway verifies whom it talks to (E6).

import type { MessageInitShape } from "@bufbuild/protobuf";
import { describePool as describe } from "@holdfast/pool";
import type { DescribePoolRequest, DescribePoolResponseSchema } from "@holdfast/proto";
import type { Reply, ServedCall } from "@holdfast/wire";
import { admitGateway } from "./gate-keeper.ts";
import type { Service } from "./service.ts";

export async function describePool(
  { world, token }: Service,
  _message: DescribePoolRequest,
  call: ServedCall,
): Promise<Reply<MessageInitShape<typeof DescribePoolResponseSchema>>> {
  const refusal = admitGateway(token, call);
  if (refusal !== null) return { refusal };
  const { maxLive, states, memoryBytes, draining } = describe(world.pool.state);
  return {
    ok: {
      runner: world.self.runner,
      incarnation: world.self.incarnation,
      address: world.self.address,
      maxLive,
      ...states,
      memoryBytes: BigInt(memoryBytes),
      memoryBudgetBytes: BigInt(world.memoryBudgetBytes),
      draining,
      agents: [...world.catalogue.names],
    },
  };
}
