/**
 * Answers of the test's Tron node to what is asked about blocks, transactions and accounts, in the
 * form of tronprotocol/documentation-en, `docs/api/http`: defaults left out, `{}` for what is not
 * there, HTTP 200 with `Error` for what cannot be read. Addresses and bytes are hex (`visible: false`).
 * @module
 */
import { head, type Ledger, solidified, type TronBlock } from "./ledger.ts";
import { printTransaction } from "./messages.ts";
import type { Processed } from "./processing.ts";
import { MalformedMessage, type Message } from "./protobuf.ts";
import { decayed } from "./resources.ts";
import type { World } from "./world.ts";

/** The body of a question. */
export type Body = Readonly<Record<string, unknown>>;

/** What a surface of the node shows. */
export interface View {
  readonly ledger: Ledger;
  /** The newest block that it shows. */
  readonly top: TronBlock;
  readonly world: World;
  /** The full node's surface; the solidity surface has no pool. */
  readonly isFull: boolean;
}

/** How a node is set up. */
export interface NodeSettings {
  /** Inner calls are kept (`vm.saveInternalTx`). */
  savesInternals: boolean;
  /** Balances of earlier blocks are kept (`storage.balance.history.lookup`). */
  keepsBalances: boolean;
  /** `estimateenergy` is answered (`vm.estimateEnergy`). */
  estimates: boolean;
}

/** An answer to a question. */
export type Answer = (view: View, body: Body, settings: NodeSettings) => unknown;

const SLOT = 3_000n;
const HASH_DIGITS = 64;

/** Makes the view of a surface that lies so many blocks behind. */
export function viewOf(ledger: Ledger, isFull: boolean, behind: number): View {
  if (isFull && behind === 0) {
    return { ledger, top: head(ledger), world: ledger.pending, isFull };
  }
  const newest = isFull ? ledger.blocks.length - 1 : Number(solidified(ledger).number);
  const top = ledger.blocks[Math.max(0, newest - behind)];
  return { ledger, top, world: top.world, isFull };
}

/** Reads a number of a body. */
export function numberOf(body: Body, name: string): bigint {
  const value = body[name] ?? 0n;
  if (typeof value === "bigint") return value;
  if (typeof value === "string" && /^-?\d+$/.test(value)) return BigInt(value);
  throw new MalformedMessage(`${name}: not a number`);
}

/** Reads bytes of a body; empty if they are not given. */
export function bytesIn(body: Body, name: string): string {
  const value = body[name] ?? "";
  if (typeof value !== "string" || !/^(?:[0-9a-fA-F]{2})*$/.test(value)) {
    throw new MalformedMessage(`${name}: INVALID hex String`);
  }
  return value.toLowerCase();
}

function printBlock(block: TronBlock, detail = true): Message {
  const transactions = (detail ? block.processed : []).map(({ transaction, contractRet }) =>
    printTransaction(transaction, contractRet)
  );
  const witness_signature = block.id.slice(16).padEnd(130, "0");
  return {
    blockID: block.id,
    block_header: { raw_data: block.header, witness_signature },
    ...(transactions.length > 0 && { transactions }),
  };
}

function blockAt({ ledger, top }: View, number: bigint): TronBlock | null {
  return number >= 0n && number <= top.number ? ledger.blocks[Number(number)] : null;
}

function blockById(view: View, id: string): TronBlock | null {
  if (id.length !== HASH_DIGITS) return null;
  const block = blockAt(view, BigInt(`0x${id.slice(0, 16)}`));
  return block?.id === id ? block : null;
}

/** By number or id; the newest without either. Transactions only with `detail`. */
function anyBlock(view: View, body: Body): unknown {
  const which = String(body.id_or_num ?? "");
  const isNumber = /^-?\d+$/.test(which);
  if (isNumber && which.startsWith("-")) return { Error: "num must be non-positive number." };
  if (!isNumber && which !== "" && !/^[0-9a-f]{64}$/i.test(which)) {
    return { Error: "id must be legal block hash." };
  }
  const block = which === ""
    ? view.top
    : isNumber
    ? blockAt(view, BigInt(which))
    : blockById(view, which.toLowerCase());
  return block ? printBlock(block, body.detail === true) : {};
}

function minedIn(view: View, id: string): { block: TronBlock; processed: Processed } | null {
  const number = view.ledger.minedIn.get(id);
  const block = number === undefined ? null : blockAt(view, BigInt(number));
  const processed = block?.processed.find(({ transaction }) => transaction.id === id);
  return block && processed ? { block, processed } : null;
}

function printInfo(block: TronBlock, { info }: Processed, settings: NodeSettings): Message {
  const { id, fee, internal_transactions, ...rest } = info;
  return {
    id,
    ...(fee !== undefined && { fee }),
    ...(block.number > 0n && { blockNumber: block.number }),
    blockTimeStamp: block.timestamp,
    ...rest,
    ...(settings.savesInternals && internal_transactions !== undefined && {
      internal_transactions,
    }),
  };
}

/** A full node also shows a transaction of its pool, with the result that it had there. */
function transactionById(view: View, body: Body): unknown {
  const id = bytesIn(body, "value");
  const pooled = view.isFull
    ? view.ledger.pool.find(({ transaction }) => transaction.id === id)
    : undefined;
  const found = minedIn(view, id)?.processed ?? pooled;
  return found ? printTransaction(found.transaction, found.contractRet) : {};
}

function pooledById({ ledger }: View, body: Body): unknown {
  const id = bytesIn(body, "value");
  const found = ledger.pool.find(({ transaction }) => transaction.id === id);
  return found ? printTransaction(found.transaction) : {};
}

function account({ world }: View, body: Body): unknown {
  const address = bytesIn(body, "address");
  const known = world.accounts.get(address);
  if (!known) return {};
  const key = [{ address, weight: 1n }];
  const assets = Object.entries(known.assets).map(([name, value]) => ({ key: name, value }));
  return {
    address,
    ...(world.contracts.has(address) && { type: "Contract" }),
    ...(known.balance > 0n && { balance: known.balance }),
    create_time: known.created,
    ...(known.freeUsed > 0n && { free_net_usage: known.freeUsed }),
    net_window_size: 28_800_000n,
    net_window_optimized: true,
    account_resource: { energy_window_size: 28_800_000n, energy_window_optimized: true },
    owner_permission: { permission_name: "owner", threshold: 1n, keys: key },
    active_permission: [{ type: "Active", id: 2n, permission_name: "active", keys: key }],
    frozenV2: [{}, { type: "ENERGY" }, { type: "TRON_POWER" }],
    ...(assets.length > 0 && { assetV2: assets }),
    asset_optimized: true,
  };
}

function accountResource({ world, ledger, top }: View, body: Body): unknown {
  const known = world.accounts.get(bytesIn(body, "address"));
  if (!known) return {};
  const now = top.timestamp / SLOT;
  const free = decayed(known.freeUsed, known.freeAt, now);
  const net = decayed(known.netUsed, known.netAt, now);
  const energy = decayed(known.energyUsed, known.energyAt, now);
  return {
    ...(free > 0n && { freeNetUsed: free }),
    freeNetLimit: ledger.parameters.getFreeNetLimit,
    ...(net > 0n && { NetUsed: net }),
    ...(known.netLimit > 0n && { NetLimit: known.netLimit }),
    TotalNetLimit: 43_200_000_000n,
    TotalNetWeight: 68_305_209_098n,
    ...(energy > 0n && { EnergyUsed: energy }),
    ...(known.energyLimit > 0n && { EnergyLimit: known.energyLimit }),
    TotalEnergyLimit: 180_000_000_000n,
    TotalEnergyWeight: 2_411_528_185n,
  };
}

/** Without the setting it answers no balance, and no error, whatever the account holds. */
function accountBalance(view: View, body: Body, settings: NodeSettings): unknown {
  const who = body.account_identifier as Body | undefined;
  const where = body.block_identifier as Body | undefined;
  if (!who) throw new MalformedMessage("account_identifier is null");
  if (!where) throw new MalformedMessage("block_identifier null");
  const block = blockAt(view, numberOf(where, "number"));
  if (!block) throw new MalformedMessage(`number: ${where.number} is not found!`);
  if (block.id !== bytesIn(where, "hash")) {
    throw new MalformedMessage("number and hash do not match");
  }
  const known = block.world.accounts.get(bytesIn(who, "address"));
  const balance = settings.keepsBalances ? known?.balance ?? 0n : 0n;
  return { balance, block_identifier: { hash: block.id, number: block.number } };
}

function contract({ world }: View, body: Body): unknown {
  const address = bytesIn(body, "value");
  const known = world.contracts.get(address);
  if (!known) return {};
  return {
    bytecode: known.code.toHex(),
    consume_user_resource_percent: 100n,
    origin_address: known.origin,
    contract_address: address,
    origin_energy_limit: 10_000_000n,
  };
}

function contractInfo(view: View, body: Body, settings: NodeSettings): unknown {
  const known = contract(view, body) as Message;
  if (known.contract_address === undefined) return {};
  const factor = view.ledger.factors.get(known.contract_address as string) ?? 0n;
  void settings;
  return {
    smart_contract: known,
    runtimecode: known.bytecode,
    contract_state: { ...(factor > 0n && { energy_factor: factor }), update_cycle: 1n },
  };
}

function infosOf(view: View, body: Body, settings: NodeSettings): unknown {
  const number = numberOf(body, "num");
  if (number <= 0n) return {};
  const block = blockAt(view, number);
  return block ? block.processed.map((one) => printInfo(block, one, settings)) : [];
}

function infoById(view: View, body: Body, settings: NodeSettings): unknown {
  const found = minedIn(view, bytesIn(body, "value"));
  return found ? printInfo(found.block, found.processed, settings) : {};
}

function chainParameters({ ledger }: View): unknown {
  const entries = Object.entries(ledger.parameters) as [string, bigint][];
  return {
    chainParameter: entries.map(([key, value]) => ({ key, ...(value !== 0n && { value }) })),
  };
}

function blocksBetween(view: View, body: Body): unknown {
  const [from, end] = [numberOf(body, "startNum"), numberOf(body, "endNum")];
  if (from < 0n || end <= from || end - from > 100n) return {};
  const found = view.ledger.blocks.slice(Number(from), Number(end))
    .filter(({ number }) => number <= view.top.number);
  return found.length > 0 ? { block: found.map((one) => printBlock(one)) } : {};
}

function nodeInfo({ ledger, top }: View): unknown {
  const { number, id } = solidified(ledger);
  return {
    block: `Num:${top.number},ID:${top.id}`,
    solidityBlock: `Num:${number},ID:${id}`,
    configNodeInfo: { codeVersion: "4.8.0", p2pVersion: "11111" },
  };
}

/** Answers of both surfaces. */
export const SHARED_ANSWERS: Readonly<Record<string, Answer>> = {
  getnowblock: ({ top }) => printBlock(top),
  getblock: anyBlock,
  getblockbynum(view, body) {
    const block = blockAt(view, numberOf(body, "num"));
    return block ? printBlock(block) : {};
  },
  getblockbyid(view, body) {
    const block = blockById(view, bytesIn(body, "value"));
    return block ? printBlock(block) : {};
  },
  getblockbylimitnext: blocksBetween,
  gettransactionbyid: transactionById,
  gettransactioninfobyid: infoById,
  gettransactioninfobyblocknum: infosOf,
  getaccount: account,
};

/** Answers of the full node's surface alone. */
export const FULL_ANSWERS: Readonly<Record<string, Answer>> = {
  getaccountresource: accountResource,
  getaccountbalance: accountBalance,
  getchainparameters: chainParameters,
  getcontract: contract,
  getcontractinfo: contractInfo,
  getnodeinfo: nodeInfo,
  gettransactionfrompending: pooledById,
  gettransactionlistfrompending: ({ ledger }) => {
    const txId = ledger.pool.map(({ transaction }) => transaction.id);
    return txId.length > 0 ? { txId } : {};
  },
  getpendingsize: ({ ledger }) => ({ pendingSize: BigInt(ledger.pool.length) }),
};
