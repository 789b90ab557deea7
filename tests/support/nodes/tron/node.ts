/**
 * An honest Tron node for tests, in this process: it re-encodes what it is sent, checks ids,
 * signatures, reference blocks, expiry, balances, bandwidth and energy as java-tron does, and runs
 * TRC-20 contracts. Blocks are made on demand, three seconds apart by their own clock.
 *
 * The rules follow the source of tronprotocol/java-tron at 1e35f79a (May 2025) and the HTTP reference
 * of tronprotocol/documentation-en; functions name the class that they follow. It is one producer: no
 * votes, no witness signatures, one key per account, the Ethereum prices of machine instructions, and
 * no contract that the deployer pays for.
 * @module
 */
import strange from "../../contracts/Strange.json" with { type: "json" };
import tether from "../../contracts/Tether.json" with { type: "json" };
import token from "../../../../workers/chains/evm/token/Token.json" with { type: "json" };
import { AbiCoder } from "ethers";
import {
  alter,
  head,
  keepLedger,
  type Ledger,
  mineBlock,
  push,
  repush,
  rollback,
  solidify,
  startLedger,
} from "./ledger.ts";
import { startMachine } from "./machine.ts";
import type { ContractType, Transaction } from "./messages.ts";
import type { Message } from "./protobuf.ts";
import type { ChainParameters } from "./resources.ts";
import { startSurface, takeTurns, type TronSurface } from "./surface.ts";
import { richTron, sign, toHex, type TronParty } from "./wallet.ts";
import { adjust, change, emptyAccount, type World } from "./world.ts";

/** Bytecode that tests deploy. */
const BYTECODE = { ...strange.bytecode, ...tether.bytecode, ...token.bytecode };

/** Staked resources of an account. */
export interface Stake {
  readonly energy?: bigint;
  readonly bandwidth?: bigint;
}

/** Fields of a transaction that a test may set. */
export interface SentFields {
  /** Who signs; rich account 0 if not given. */
  readonly from?: TronParty;
  readonly feeLimit?: bigint;
  readonly value?: bigint;
  /** The memo, as text. */
  readonly memo?: string;
}

/** What a test does to the chain. */
export interface TronControl {
  readonly ledger: Ledger;
  /** Starts another node before the same chain. */
  peer(): TronSurface;
  /** Keeps the chain and the node as they are; gives what puts them back. */
  keep(): Promise<() => Promise<void>>;
  /** Makes so many blocks, the first of what is in the pool. */
  mine(blocks?: number): Promise<void>;
  /** Makes a block after so many slots in which nobody made one. */
  mineAfter(skippedSlots: number): Promise<void>;
  /** Makes blocks until the newest one of now is solidified. */
  solidify(): Promise<void>;
  /** Sets how far the solidified block lies below the head. */
  lag(blocks: number): Promise<void>;
  /** Replaces so many of the newest blocks by one block more; their transactions are kept on demand. */
  reorganise(blocks: number, keep?: (id: string) => boolean): Promise<void>;
  /** The same of blocks that the node called final, as where witnesses agreed on another history. */
  reorganiseFinal(blocks: number, keep?: (id: string) => boolean): Promise<void>;
  /** Gives TRX out of nothing, with an account where there is none. */
  fund(address: string, sun: bigint): Promise<void>;
  /** Gives an amount of a TRC-10 asset. */
  grantAsset(address: string, asset: string, amount: bigint): Promise<void>;
  /** Sets what an account's staked TRX brings. */
  stake(address: string, stake: Stake): Promise<void>;
  /** Sets parameters that the committee decides. */
  vote(parameters: Partial<ChainParameters>): Promise<void>;
  /** Sets the extra energy of a busy contract, in ten-thousandths. */
  busy(contract: string, factor: bigint): Promise<void>;
  /** Sends TRX without mining. Gives the transaction id. */
  pay(to: string, sun: bigint, fields?: SentFields): Promise<string>;
  /** Calls a contract without mining. Gives the transaction id. */
  trigger(contract: string, data: string, fields?: SentFields): Promise<string>;
  /** Sends TRC-10 without mining. */
  payAsset(to: string, asset: string, amount: bigint, fields?: SentFields): Promise<string>;
  /** Deploys a contract and mines it. Gives its address in hex. */
  deploy(name: keyof typeof BYTECODE, parameters?: string, fields?: SentFields): Promise<string>;
  /** Deploys an honest token, its supply in the hands of rich account 0. */
  deployToken(symbol: string, decimals: number, supply?: bigint): Promise<string>;
  /** Puts the code and storage of a contract at another address too. */
  copyContract(from: string, to: string): Promise<void>;
  /** Builds and signs a transaction on the head, and does not send it. */
  build(type: ContractType, value: Message, fields?: SentFields): Transaction;
}

/** A running node with its chain. */
export interface TronNode extends TronSurface, TronControl {}

const RICH = 4;
const RICH_SUN = 1_000_000_000_000_000n;
const SECOND = 1_000n;
const FEE_LIMIT = 5_000_000_000n;

/** Starts a chain and a node before it. */
export async function startTronNode(
  how: { lag?: number; startsAt?: number; remembersRefused?: boolean; port?: number } = {},
): Promise<TronNode> {
  const startsAt = BigInt(how.startsAt ?? Date.now()) / (3n * SECOND) * 3n * SECOND;
  const world: World = { accounts: new Map(), contracts: new Map(), storage: new Map() };
  for (let index = 0; index < RICH; index++) {
    world.accounts.set(richTron(index).hex, { ...emptyAccount(startsAt), balance: RICH_SUN });
  }
  const ledger = startLedger(await startMachine(), world, {
    timestamp: startsAt,
    lag: how.lag ?? 18,
    seen: how.remembersRefused ?? false,
    factors: new Map(),
  });
  const turns = takeTurns();
  const surface = startSurface(ledger, turns, how.port);
  const peers: TronSurface[] = [];
  const control = controlOf(ledger, turns);
  const node: TronNode = Object.assign(surface, control, {
    peer() {
      const made = startSurface(ledger, turns);
      peers.push(made);
      return made;
    },
    async keep() {
      const settings = { ...surface.settings };
      const { trick, behind } = surface;
      const putBack = await turns(() => Promise.resolve(keepLedger(ledger)));
      return async () => {
        await turns(() => Promise.resolve(putBack()));
        Object.assign(surface, { trick, behind });
        Object.assign(surface.settings, settings);
        surface.asked.length = 0;
      };
    },
    async [Symbol.asyncDispose]() {
      for (const one of peers) await one.abort();
      await surface.abort();
    },
  });
  return node;
}

function controlOf(
  ledger: Ledger,
  turns: ReturnType<typeof takeTurns>,
): Omit<TronControl, "peer" | "keep"> {
  const mine = (blocks = 1) =>
    turns(async () => {
      for (let made = 0; made < blocks; made++) await mineBlock(ledger);
    });
  const send = async (type: ContractType, value: Message, fields: SentFields) => {
    const transaction = buildOn(ledger, type, value, fields);
    await turns(() => push(ledger, transaction));
    return transaction.id;
  };
  const trigger = (contract: string, data: string, fields: SentFields = {}) => {
    const call_value = fields.value ?? 0n;
    const plain = data.replace(/^0x/, "");
    const value = {
      ...ownerOf(fields),
      contract_address: toHex(contract),
      call_value,
      data: plain,
    };
    return send("TriggerSmartContract", value, fields);
  };
  const deploy: TronControl["deploy"] = async (name, parameters = "", fields = {}) => {
    const { owner_address } = ownerOf(fields);
    const bytecode = (BYTECODE[name] + parameters.replace(/^0x/, "")).slice(2);
    const new_contract = {
      origin_address: owner_address,
      bytecode,
      consume_user_resource_percent: 100n,
      name,
      origin_energy_limit: 10_000_000n,
    };
    await send("CreateSmartContract", { owner_address, new_contract }, fields);
    await mine();
    const [{ info }] = head(ledger).processed.slice(-1);
    if (info.result === "FAILED") throw new Error(`${name} was not deployed`);
    return info.contract_address as string;
  };
  return {
    ledger,
    mine,
    mineAfter: (skippedSlots) => turns(() => mineBlock(ledger, skippedSlots)),
    solidify: () => mine(ledger.lag),
    lag: (blocks) =>
      turns(() => {
        ledger.lag = blocks;
        solidify(ledger);
      }),
    reorganise: (blocks, keep = () => false) => turns(() => fork(ledger, blocks, keep)),
    reorganiseFinal: (blocks, keep = () => false) => turns(() => forkFinal(ledger, blocks, keep)),
    trigger,
    deploy,
    deployToken(symbol, decimals, supply = 10n ** 18n) {
      const types = ["string", "string", "uint8", "uint256"];
      const values = [symbol, symbol, decimals, supply];
      return deploy("Token", AbiCoder.defaultAbiCoder().encode(types, values));
    },
    pay: (to, sun, fields = {}) =>
      send("TransferContract", { ...ownerOf(fields), to_address: toHex(to), amount: sun }, fields),
    payAsset(to, asset, amount, fields = {}) {
      const asset_name = new TextEncoder().encode(asset).toHex();
      const value = { asset_name, ...ownerOf(fields), to_address: toHex(to), amount };
      return send("TransferAssetContract", value, fields);
    },
    build: (type, value, fields = {}) => buildOn(ledger, type, value, fields),
    ...alterations(ledger, turns),
  };
}

function alterations(ledger: Ledger, turns: ReturnType<typeof takeTurns>) {
  const account = (world: World, address: string) => {
    const hex = toHex(address);
    if (!world.accounts.has(hex)) world.accounts.set(hex, emptyAccount(head(ledger).timestamp));
    return hex;
  };
  const altered = (by: (world: World) => void) => turns(() => alter(ledger, by));
  return {
    fund: (address: string, sun: bigint) =>
      altered((world) => adjust(world, account(world, address), sun)),
    grantAsset: (address: string, asset: string, amount: bigint) =>
      altered((world) => {
        const hex = account(world, address);
        const { assets } = world.accounts.get(hex)!;
        change(world, hex, { assets: { ...assets, [asset]: (assets[asset] ?? 0n) + amount } });
      }),
    stake: (address: string, { energy = 0n, bandwidth = 0n }: Stake) =>
      altered((world) =>
        change(world, account(world, address), { energyLimit: energy, netLimit: bandwidth })
      ),
    vote: (parameters: Partial<ChainParameters>) =>
      turns(() => {
        ledger.parameters = { ...ledger.parameters, ...parameters };
      }),
    busy: (contract: string, factor: bigint) =>
      turns(() => {
        ledger.factors.set(toHex(contract), factor);
      }),
    copyContract: (from: string, to: string) =>
      altered((world) => copyContract(world, toHex(from), account(world, to))),
  };
}

function copyContract(world: World, from: string, to: string): void {
  world.contracts.set(to, world.contracts.get(from)!);
  for (const [key, value] of [...world.storage]) {
    if (key.startsWith(`${from}/`)) world.storage.set(to + key.slice(from.length), value);
  }
}

async function fork(ledger: Ledger, blocks: number, keep: (id: string) => boolean): Promise<void> {
  const erased = rollback(ledger, blocks);
  for (const one of erased) if (keep(one.id)) await repush(ledger, one);
  for (let made = 0; made <= blocks; made++) await mineBlock(ledger);
}

async function forkFinal(
  ledger: Ledger,
  blocks: number,
  keep: (id: string) => boolean,
): Promise<void> {
  ledger.solid = Math.min(ledger.solid, ledger.blocks.length - blocks - 1);
  await fork(ledger, blocks, keep);
}

function ownerOf({ from = richTron() }: SentFields): { owner_address: string } {
  return { owner_address: from.hex };
}

/** Ids differ although the head is the same, because each has a time of its own. */
let built = 0n;

function buildOn(
  ledger: Ledger,
  type: ContractType,
  value: Message,
  { from = richTron(), feeLimit, memo }: SentFields,
): Transaction {
  const { id, timestamp } = head(ledger);
  const isCall = type === "TriggerSmartContract" || type === "CreateSmartContract";
  return sign(from, type, value, {
    ref_block_bytes: id.slice(12, 16),
    ref_block_hash: id.slice(16, 32),
    expiration: timestamp + 60n * SECOND,
    timestamp: timestamp + built++,
    ...(isCall && { fee_limit: feeLimit ?? FEE_LIMIT }),
    ...(memo !== undefined && { data: new TextEncoder().encode(memo).toHex() }),
  });
}
