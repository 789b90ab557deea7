/**
 * Proof of a transfer before it is credited: as many nodes as the quorum, each asked separately, must report the
 * same transfer, and must have it in a final ("solidified") block. The log of a token is the only evidence of its amount,
 * because nodes keep no balances of earlier blocks.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { type Checked, type Evidence, keyOfChecked, type Transfer } from "../observations.ts";
import type { Tron } from "./context.ts";
import { newestBlock } from "./node_answers.ts";
import { findTransaction, INSIDE, isAsset } from "./transfers.ts";

/** Reads a transfer again. With a depth, it must be final too. */
export async function recheck(
  tron: Tron,
  transfer: Transfer,
  evidence: Evidence = {},
): Promise<Checked | null> {
  return await tron.nodes.agree(
    (peer) => witness(tron, peer, transfer, evidence),
    keyOfChecked,
    `transaction ${transfer.hash}`,
  );
}

async function witness(
  tron: Tron,
  peer: Peer,
  transfer: Transfer,
  { depth }: Evidence,
): Promise<Checked | null> {
  await assertReached(peer, transfer, depth);
  const { contract } = transfer;
  const contracts = contract !== null && isAsset(contract)
    ? null
    : new Set(contract === null ? [] : [contract]);
  const watch = { addresses: new Set([transfer.to]), inputs: new Set<string>(), contracts };
  const space = depth === undefined ? "wallet" : "walletsolidity";
  const found = await findTransaction(tron, peer, { hash: transfer.hash, watch, space });
  if (found === null) return null;
  if (transfer.index === INSIDE && !found.hasInner) {
    throw new ChainError("unavailable", `${peer.name} keeps no calls inside transactions`);
  }
  const again = found.transfers.find((one) =>
    one.index === transfer.index && one.to === transfer.to && one.contract === transfer.contract
  );
  if (again === undefined) return null;
  return { transfer: again, received: again.amount, proven: again.contract === null };
}

/** Makes a node abstain that has not reached the transfer's block, or the depth above it. */
async function assertReached(
  peer: Peer,
  { block }: Transfer,
  depth: number | undefined,
): Promise<void> {
  if (block === null) return;
  const head = await newestBlock(peer);
  if (head.height - block.height + 1 < (depth ?? 1)) {
    throw new ChainError("unavailable", `${peer.name} is only at block ${head.height}`);
  }
  if (depth === undefined) return;
  const final = await newestBlock(peer, true);
  if (final.height < block.height) {
    const why = `${peer.name} calls only block ${final.height} final`;
    throw new ChainError("unavailable", why);
  }
}
