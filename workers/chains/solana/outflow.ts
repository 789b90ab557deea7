/**
 * What a transaction of Solana moved, whatever it does: the balances before and after it, as as many nodes as the
 * quorum tell of a final block. For transactions that no plan of ours makes: their bytes do not tell it.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Outflow, OutflowQuery } from "../outgoing.ts";
import { movedBy, type Movement as Move } from "../outflows.ts";
import type { Solana } from "./context.ts";
import type { Movement } from "./movements.ts";
import { signaturesOf } from "./payment.ts";
import { rawOf } from "./raw_transaction.ts";
import { findTransaction } from "./recheck.ts";

/** Reads what a transaction moved. */
export async function outflowOf(
  solana: Solana,
  hash: string,
  of: OutflowQuery,
): Promise<Outflow> {
  const signed = signaturesOf(solana.web3, await rawOf(solana, hash));
  const from = signed?.signers ?? [];
  return await solana.nodes.agree(
    async (peer) => {
      const found = await findTransaction(peer, hash);
      if (found === null) {
        throw new ChainError("unavailable", `${peer.name} has no final block with ${hash}`);
      }
      const { movement, block } = found;
      const [payer] = movement.keys;
      return {
        ...{ block: block.hash, from },
        fee: of.own.has(payer) ? movement.fee : 0n,
        assets: movedBy(movesOf(movement), of),
      };
    },
    ({ block, fee, assets }) =>
      JSON.stringify(
        [block, `${fee}`, assets],
        (_, one) => typeof one === "bigint" ? `${one}` : one,
      ),
    `what ${hash} moved`,
  );
}

/** What each account gained or lost, its fee left out. One that failed moved nothing. */
function movesOf({ success, keys, before, after, fee, tokens }: Movement): Move[] {
  if (!success) return [];
  const coins = keys.map((to, at) => ({
    ...{ from: null, to, contract: null },
    amount: after[at] - before[at] + (at === 0 ? fee : 0n),
  }));
  const held = tokens.map(({ owner, mint, before, after }) => ({
    ...{ from: null, to: owner, contract: mint },
    amount: after - before,
  }));
  return [...coins, ...held];
}
