/**
 * What a transaction of Tron moved, whatever it does, as as many nodes as the quorum tell of a final block. For
 * transactions that no plan of ours makes: their bytes do not tell it.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { readTransferLog } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import type { Outflow, OutflowQuery } from "../outgoing.ts";
import { movedBy, type Movement } from "../outflows.ts";
import { toBase58Address } from "./address_forms.ts";
import { fullBlockAt, readTransaction } from "./block.ts";
import type { Ethers, Tron } from "./context.ts";
import { askRecord, blockAt, count, hash32, newestBlock, units } from "./node_answers.ts";
import { signerOf } from "./signer.ts";

/** Kinds of transactions whose value is told in full: by themselves, their inner calls and their logs. */
const TOLD: ReadonlySet<unknown> = new Set([
  "TransferContract",
  "TriggerSmartContract",
  "CreateSmartContract",
  // What follows moves no coins beside its fee, or between an account and its stake.
  "VoteWitnessContract",
  "AccountUpdateContract",
  "AccountPermissionUpdateContract",
  "SetAccountIdContract",
  "DelegateResourceContract",
  "UnDelegateResourceContract",
  "TransferAssetContract",
  "FreezeBalanceContract",
  "FreezeBalanceV2Contract",
  "UnfreezeBalanceContract",
  "UnfreezeBalanceV2Contract",
  "WithdrawExpireUnfreezeContract",
  "CancelAllUnfreezeV2Contract",
  "WithdrawBalanceContract",
]);
/** Those that run code, whose inner calls must be told. */
const RUN: ReadonlySet<unknown> = new Set(["TriggerSmartContract", "CreateSmartContract"]);

/** Blocks below and above a transaction that are searched for one whose inner calls a node tells. */
const NEAR = 20;

/** Reads what a transaction moved. @throws {ChainError} `refused` for a kind whose value nobody tells */
export async function outflowOf(
  tron: Tron,
  hash: string,
  of: OutflowQuery,
): Promise<Outflow> {
  return await tron.nodes.agree(
    (peer) => witness(tron, peer, hash, of),
    ({ block, from, fee, assets }) =>
      JSON.stringify(
        [block, from, `${fee}`, assets],
        (_, one) => typeof one === "bigint" ? `${one}` : one,
      ),
    `what ${hash} moved`,
  );
}

async function witness(
  { ethers }: Tron,
  peer: Peer,
  hash: string,
  of: OutflowQuery,
): Promise<Outflow> {
  const info = await askRecord(peer, "walletsolidity/gettransactioninfobyid", { value: hash });
  const told = await askRecord(peer, "walletsolidity/gettransactionbyid", { value: hash });
  if (Object.keys(info).length === 0 || Object.keys(told).length === 0) {
    throw new ChainError("unavailable", `${peer.name} has no final block with ${hash}`);
  }
  const block = await blockAt(peer, count(info.blockNumber, "a height"));
  const ids = [info.id, told.txID].map((one) => hash32(one, "a transaction id"));
  const final = await newestBlock(peer, true);
  if (block === null || final.height < block.height || ids.some((id) => id !== hash)) {
    throw new ChainError("unavailable", `${peer.name} is changing its chain around ${hash}`);
  }
  const [contract] = readList(readRecord(told.raw_data, "a transaction").contract);
  const { type } = readRecord(contract, "a contract");
  const read = readTransaction(told, info);
  if (read.success && !TOLD.has(type)) {
    throw new ChainError("refused", `${hash}: what a ${String(type)} moves is not told by nodes`);
  }
  const isKept = !read.success || !RUN.has(type) || read.inner !== null ||
    await keepsCalls(peer, block.height, final.height);
  if (!isKept) {
    throw new ChainError("unavailable", `${peer.name} keeps no calls inside transactions`);
  }
  const signer = signerOf(ethers, hash, read.signature);
  const name = (hex: string) => toBase58Address(ethers, hex);
  const owner = read.owner === null ? null : name(read.owner);
  const fee = owner !== null && of.own.has(owner) ? read.fee : 0n;
  return {
    block: block.hash,
    from: signer === null ? [] : [name(signer)],
    fee,
    assets: movedBy([...movesOf(ethers, read), ...stakedBy(owner, { type, told, info, read })], of),
  };
}

/**
 * Whether a node keeps calls inside transactions, which it leaves out where there are none: then it tells some in the
 * blocks around.
 */
async function keepsCalls(peer: Peer, height: number, final: number): Promise<boolean> {
  const around = Array.from({ length: NEAR }, (_, at) => [height - at, height + at + 1]).flat();
  for (const one of around) {
    if (one <= 0 || one > final) continue;
    const { transactions } = await fullBlockAt(peer, one);
    if (transactions.some(({ inner }) => inner !== null)) return true;
  }
  return false;
}

/** What went from an account to its stake, and back, as far as it moved at once. */
function stakedBy(
  owner: string | null,
  { type, told, info, read }: {
    type: unknown;
    told: Readonly<Record<string, unknown>>;
    info: Readonly<Record<string, unknown>>;
    read: ReturnType<typeof readTransaction>;
  },
): Movement[] {
  if (!read.success || owner === null) return [];
  const [contract] = readList(readRecord(told.raw_data, "a transaction").contract);
  const parameter = readRecord(readRecord(contract, "a contract").parameter, "a parameter");
  const { frozen_balance } = readRecord(parameter.value, "a parameter");
  const isStake = type === "FreezeBalanceContract" || type === "FreezeBalanceV2Contract";
  const gone = isStake ? units(frozen_balance, "an amount") : 0n;
  // What is unfrozen today comes back only when it has expired.
  const back = [
    type === "UnfreezeBalanceContract" ? info.unfreeze_amount : undefined,
    info.withdraw_amount,
    info.withdraw_expire_amount,
  ].reduce<bigint>((sum, one) => sum + units(one, "an amount"), 0n);
  return [
    { from: owner, to: null, contract: null, amount: gone },
    { from: null, to: owner, contract: null, amount: back },
  ];
}

function movesOf(ethers: Ethers, read: ReturnType<typeof readTransaction>): Movement[] {
  if (!read.success) return [];
  const name = (hex: string) => toBase58Address(ethers, hex);
  const coins = [...read.value === null ? [] : [read.value], ...read.inner ?? []];
  return [
    ...coins.map(({ from, to, amount }) => ({
      from: name(from),
      to: name(to),
      contract: null,
      amount,
    })),
    ...read.logs.flatMap(({ address, topics, data }) => {
      const said = readTransferLog(topics, data);
      if (said === null || said === undefined) return [];
      const { from, to, amount } = said;
      const contract = name(`41${address.slice(2)}`);
      return [{
        from: from === null ? null : name(`41${from.slice(2)}`),
        to: name(`41${to.slice(2)}`),
        contract,
        amount,
      }];
    }),
  ];
}
