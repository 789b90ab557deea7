/**
 * Tokens of the registry on a node of a test: an honest ERC-20 stands at the contract's real address,
 * and its code can be exchanged for one that misbehaves while balances stay.
 * @module
 */
import { AbiCoder, getAddress, keccak256, toBeHex } from "ethers";
import token from "../../workers/chains/evm/token/Token.json" with { type: "json" };
import { findAsset } from "../../domain/assets.ts";
import { type Anvil, CALLS, rich } from "./nodes/anvil.ts";
import strange from "./contracts/Strange.json" with { type: "json" };

/** A token of the registry that lives on a test's node. */
export interface TestToken {
  contract: string;
  /** Sends base units from rich account 0; not mined yet. */
  pay(to: string, amount: bigint): Promise<string>;
  /** Exchanges the code; balances stay. */
  become(name: keyof typeof strange.bytecode): Promise<void>;
}

/** Slots of the honest token: balances, allowances, supply, name, symbol, and a few to spare. */
const SLOTS = 8;

/** Deploys an honest token, the whole supply in the hands of rich account 0; mined. */
export async function deployToken(
  anvil: Anvil,
  says: { name?: string; symbol: string; decimals: number; supply?: bigint },
): Promise<string> {
  const types = ["string", "string", "uint8", "uint256"];
  const { symbol, decimals, name = symbol, supply = 10n ** 30n } = says;
  const values = AbiCoder.defaultAbiCoder().encode(types, [name, symbol, decimals, supply]);
  const hash = await anvil.send({ data: token.bytecode.Token + values.slice(2) });
  const receipt: { contractAddress: string } = await anvil.rpc("eth_getTransactionReceipt", hash);
  return getAddress(receipt.contractAddress);
}

/** Puts a token of the registry on the node, the whole supply in the hands of rich account 0. */
export async function installToken(
  anvil: Anvil,
  code: string,
  says: { symbol?: string; decimals?: number } = {},
): Promise<TestToken> {
  const asset = findAsset(code)!;
  const contract = asset.contract!;
  const { address: from } = rich(0);
  const made = await deployToken(anvil, {
    name: code,
    symbol: says.symbol ?? asset.symbols[0],
    decimals: says.decimals ?? asset.decimals,
  });
  const slots = Array.from({ length: SLOTS }, (_, slot) => toBeHex(slot, 32));
  for (const slot of [...slots, balanceSlot(from)]) {
    const value = await anvil.rpc<string>("eth_getStorageAt", made, slot, "latest");
    await anvil.rpc("anvil_setStorageAt", contract, slot, value);
  }
  await copyCode(anvil, made, contract);
  return {
    contract,
    pay: (to, amount) =>
      anvil.pool({ to: contract, data: CALLS.encodeFunctionData("transfer", [to, amount]) }),
    become: async (name) => await copyCode(anvil, await anvil.deploy(name), contract),
  };
}

/** Leaves an amount of an honest token in somebody's hands, whatever was there. */
export async function leaveTokens(
  anvil: Anvil,
  of: { contract: string; owner: string; amount: bigint },
): Promise<void> {
  const value = toBeHex(of.amount, 32);
  await anvil.rpc("anvil_setStorageAt", of.contract, balanceSlot(of.owner), value);
}

function balanceSlot(owner: string): string {
  return keccak256(AbiCoder.defaultAbiCoder().encode(["address", "uint256"], [owner, 0]));
}

async function copyCode(anvil: Anvil, from: string, to: string): Promise<void> {
  await anvil.rpc("anvil_setCode", to, await anvil.rpc("eth_getCode", from, "latest"));
}
