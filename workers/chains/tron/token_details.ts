/**
 * Description that a TRC-20 contract gives of itself. Anybody can write one, so it is untrusted: it is compared
 * with the registry, or shown.
 * @module
 */
import { ChainError } from "../chain.ts";
import { DETAIL_CALLS, keyOfDetails, readDetails } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import type { TokenDetails } from "../observations.ts";
import { toHexAddress } from "./address_forms.ts";
import { tryCall } from "./calls.ts";
import type { Tron } from "./context.ts";
import { askRecord } from "./node_answers.ts";

/**
 * Reads a token's description as the quorum reports it, at the newest block; with a height the quorum agrees on
 * the supply too. Null if there is no contract.
 */
export async function tokenDetails(
  tron: Tron,
  contract: string,
  height?: number,
): Promise<TokenDetails | null> {
  const target = toHexAddress(tron.ethers, contract);
  async function read(peer: Peer): Promise<TokenDetails | null> {
    const there = await askRecord(peer, "wallet/getcontract", { value: target });
    if (Object.keys(there).length === 0) return null;
    const { decimals, symbol, name, totalSupply } = DETAIL_CALLS;
    const said = await Promise.all(
      [decimals, symbol, name, totalSupply].map(async (data) => {
        const call = { from: target, contract: target, data: data.slice(2) };
        const { fault, isOutOfTime, returned } = await tryCall(peer, call);
        if (isOutOfTime) throw new ChainError("unavailable", `${contract} takes too long`);
        return fault === null ? returned : null;
      }),
    );
    return readDetails(contract, said);
  }
  const keyOf = (told: TokenDetails | null) => keyOfDetails(told, height !== undefined);
  return await tron.nodes.agree(read, keyOf, `the token at ${contract}`);
}
