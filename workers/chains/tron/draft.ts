/**
 * Turns an order into a priced, tried transaction that lacks only its signature. A node runs it first, and where it
 * refuses, the quorum decides: what would burn TRX and move nothing is refused before it is signed.
 * @module
 */
import type { Speed } from "../../../domain/speeds.ts";
import { ChainError } from "../chain.ts";
import { agreedDryRun } from "../dry_run.ts";
import { transferCall } from "../evm/erc20.ts";
import artefact from "../evm/token/Token.json" with { type: "json" };
import type { Peer } from "../node_pool.ts";
import type { Budget, Draft, NewToken, SendRequest } from "../outgoing.ts";
import { toContractForm, toHexAddress } from "./address_forms.ts";
import { type TriedCall, tryCall } from "./calls.ts";
import type { Ethers, Tron } from "./context.ts";
import {
  agreedPrices,
  agreedResources,
  feeFor,
  larger,
  type Prices,
  type Resources,
} from "./fees.ts";
import { type Moment, momentOf } from "./moment.ts";
import { FEE_LIMIT_DEPLOY_MAX, FEE_LIMIT_MAX } from "./networks.ts";
import { accountOf, assertPayable, assertTransfers, type Parties } from "./recipients.ts";
import { tokenBalance } from "./token_calls.ts";
import { reachedBy } from "../quorum.ts";
import { bandwidthOf, type TronContract, type TronRaw } from "./transaction.ts";

/** A drafted transaction; amounts are decimal text, because it is stored as JSON. */
interface Body {
  /** What is to be signed. */
  readonly raw: StoredRaw;
  /** Base units that leave, of the coin or token of the order; null where none do. */
  readonly amount: string | null;
  /** Sun that it may cost at most. */
  readonly fee: string;
}

/** A transaction as JSON: its numbers are decimal text. */
type StoredRaw = {
  readonly [field in keyof TronRaw]: TronRaw[field] extends bigint ? string
    : field extends "contract" ? Readonly<Record<string, string>>
    : TronRaw[field];
};

/** Terms of a draft that do not come from the node that tries it. */
interface Terms {
  readonly order: SendRequest;
  readonly budget: Budget | null;
  readonly prices: Prices;
  readonly resources: Resources;
  readonly moment: Moment;
}

/** A cost in sun. */
interface Cost {
  /** The most. */
  readonly most: bigint;
  /** If the stake and the free bandwidth are as they are now. */
  readonly likely: bigint;
}

/** Per cent of the energy that a node counted, because state may change before the block. */
const ENERGY_MARGIN = 120n;

/** Tries and prices an order. Speed cannot be bought on Tron. */
export async function draftOrder(
  tron: Tron,
  order: SendRequest,
  _speed: Speed,
  budget: Budget | null = null,
): Promise<Draft> {
  if (order.kind === "noop") {
    throw new ChainError("unsupported", "a transaction of Tron replaces no other");
  }
  if (budget !== null && budget.contract !== null) {
    throw new ChainError("exceeded", "its fee would be paid in TRX");
  }
  const from = toHexAddress(tron.ethers, order.from);
  const [prices, resources, moment] = await Promise.all([
    agreedPrices(tron),
    agreedResources(tron, from),
    momentOf(tron),
  ]);
  const terms: Terms = { order, budget, prices, resources, moment };
  const draft = await agreedDryRun(
    tron.nodes,
    order,
    (peer) =>
      order.kind === "deploy" ? deploy(tron, peer, terms, order.token) : pay(tron, peer, terms),
  );
  return await confirmedEnergy(tron, terms, draft);
}

/**
 * Prices a contract's run by the energy that the quorum counts. One node that counts too little would cause a
 * transaction that fails and burns TRX all the same, so of two counts the higher one holds, of three the middle.
 */
async function confirmedEnergy(tron: Tron, terms: Terms, draft: Draft): Promise<Draft> {
  const { raw: { contract }, amount } = readBody(draft.body);
  if (contract.type === "TransferContract" || tron.nodes.quorum === 1) return draft;
  const call = contract.type === "CreateSmartContract"
    ? { from: contract.owner, contract: null, data: contract.bytecode }
    : { from: contract.owner, contract: contract.contract, data: contract.data };
  const { heard } = await tron.nodes.hear(async (peer) => ({
    tried: await tryCall(peer, call),
    balance: (await accountOf(peer, contract.owner)).balance,
  }));
  const works = heard.map(({ answer }) => answer).filter(({ tried }) => tried.fault === null)
    .toSorted((one, other) => one.tried.energy < other.tried.energy ? 1 : -1);
  if (works.length < tron.nodes.quorum) {
    throw new ChainError("held", "too few nodes say that it would work: it waits until they do");
  }
  const { tried } = works[Math.floor((works.length - 1) / 2)];
  return runContract(terms, {
    contract,
    tried,
    amount,
    held: reachedBy(works.map(({ balance }) => balance), tron.nodes.quorum),
    feeLimitMax: contract.type === "CreateSmartContract" ? FEE_LIMIT_DEPLOY_MAX : FEE_LIMIT_MAX,
  });
}

async function pay(tron: Tron, peer: Peer, terms: Terms): Promise<Draft> {
  const { order } = terms;
  if (order.kind !== "pay" || order.payments.length !== 1) {
    throw new ChainError("refused", "one payment fits a transaction");
  }
  const [payment] = order.payments;
  const parties: Parties = {
    from: { address: order.from, hex: toHexAddress(tron.ethers, order.from) },
    to: { address: payment.to, hex: toHexAddress(tron.ethers, payment.to) },
    contract: order.contract === null
      ? null
      : { address: order.contract, hex: toHexAddress(tron.ethers, order.contract) },
  };
  const recipient = await assertPayable(peer, parties);
  const { balance } = await accountOf(peer, parties.from.hex);
  if (parties.contract === null) {
    return payCoins(terms, { parties, isNew: !recipient.exists, held: balance });
  }
  const held = await tokenBalance(peer, parties.contract.hex, parties.from.hex);
  const amount = amountOf(order, payment.amount, held);
  const { hex } = parties.contract;
  const data = transferCall(toContractForm(parties.to.hex), amount).slice(2);
  const tried = await tryCall(peer, { from: parties.from.hex, contract: hex, data });
  assertTransfers(parties, tried);
  const contract: TronContract = {
    type: "TriggerSmartContract",
    owner: parties.from.hex,
    contract: hex,
    data,
  };
  return runContract(terms, { contract, tried, amount, held: balance, feeLimitMax: FEE_LIMIT_MAX });
}

/** Drafts a payment of TRX, which runs no contract. */
function payCoins(
  terms: Terms,
  { parties, isNew, held }: {
    readonly parties: Parties;
    readonly isNew: boolean;
    readonly held: bigint;
  },
): Draft {
  const { order, moment, budget } = terms;
  if (order.kind !== "pay") throw new ChainError("refused", "it pays nothing");
  const [{ amount: asked }] = order.payments;
  const rawOf = (amount: bigint): TronRaw => ({
    ...moment,
    memo: "",
    feeLimit: 0n,
    contract: {
      type: "TransferContract",
      owner: parties.from.hex,
      to: parties.to.hex,
      amount,
    },
  });
  const costOf = (amount: bigint) => netCost(terms, rawOf(amount), isNew);
  const all = amountOf(order, asked, held);
  // A smaller amount may take fewer bytes, and never more.
  const amount = asked === "all" ? all - costOf(all).likely : all;
  if (amount <= 0n) {
    throw new ChainError("insufficient", `${order.from} holds less than the fee`);
  }
  const cost = costOf(asked === "all" ? all : amount);
  const most = asked === "all" ? cost.likely : cost.most;
  assertBudget(budget, most);
  const lacking = asked === "all" ? 0n : larger(amount + most - held, 0n);
  return draftOf(order, rawOf(amount), { amount, most, likely: cost.likely, lacking });
}

/** Drafts a transaction that runs a contract. */
function runContract(
  terms: Terms,
  { contract, tried, amount, held, feeLimitMax }: {
    readonly contract: TronContract;
    readonly tried: TriedCall;
    readonly amount: bigint | null;
    /** Sun that the sender holds. */
    readonly held: bigint;
    readonly feeLimitMax: bigint;
  },
): Draft {
  const { order, prices, resources, moment, budget } = terms;
  const needed = tried.energy * prices.energy;
  const margin = tried.energy * ENERGY_MARGIN / 100n * prices.energy;
  const rawOf = (feeLimit: bigint): TronRaw => ({ ...moment, memo: "", feeLimit, contract });
  const net = netCost(terms, rawOf(feeLimitMax), false);
  const affordable = budget === null ? margin : budget.units - net.most;
  const feeLimit = margin < affordable ? margin : affordable;
  if (feeLimit < needed) assertBudget(budget, needed + net.most);
  if (feeLimit > feeLimitMax) {
    const why = `its energy could cost ${feeLimit} sun, at most ${feeLimitMax} are spent`;
    throw new ChainError("refused", why);
  }
  const burnt = larger(tried.energy - resources.energy, 0n) * prices.energy;
  const most = feeLimit + net.most;
  const lacking = larger(most - held, 0n);
  return draftOf(order, rawOf(feeLimit), { amount, most, likely: burnt + net.likely, lacking });
}

async function deploy(tron: Tron, peer: Peer, terms: Terms, token: NewToken): Promise<Draft> {
  const owner = toHexAddress(tron.ethers, terms.order.from);
  const bytecode = deployData(tron.ethers, token);
  const { balance } = await accountOf(peer, owner);
  const tried = await tryCall(peer, { from: owner, contract: null, data: bytecode });
  if (tried.fault !== null) throw new ChainError("refused", tried.fault);
  return runContract(terms, {
    contract: { type: "CreateSmartContract", owner, bytecode, name: "Token" },
    tried,
    amount: null,
    held: balance,
    feeLimitMax: FEE_LIMIT_DEPLOY_MAX,
  });
}

function deployData(ethers: Ethers, token: NewToken): string {
  const values = [token.name, token.symbol, token.decimals, token.supply];
  const types = ["string", "string", "uint8", "uint256"];
  const encoded = ethers.AbiCoder.defaultAbiCoder().encode(types, values);
  return artefact.bytecode.Token.slice(2) + encoded.slice(2);
}

/** The cost of a transaction's bytes, and of an account that it makes. */
function netCost({ prices, resources }: Terms, raw: TronRaw, makesAccount: boolean): Cost {
  const bytes = bandwidthOf(raw);
  if (makesAccount) {
    const most = prices.accountBandwidth + prices.account;
    return { most, likely: resources.staked >= bytes ? prices.account : most };
  }
  const most = bytes * prices.bandwidth;
  return { most, likely: resources.bandwidth >= bytes ? 0n : most };
}

function amountOf(order: SendRequest, asked: bigint | "all", held: bigint): bigint {
  const amount = asked === "all" ? held : asked;
  if (amount > held || held === 0n) {
    const what = order.kind === "pay" ? order.contract ?? "sun" : "sun";
    throw new ChainError("insufficient", `${order.from} holds ${held} base units of ${what}`);
  }
  if (amount <= 0n) throw new ChainError("refused", "nothing is to be paid");
  return amount;
}

function assertBudget(budget: Budget | null, cost: bigint): void {
  if (budget === null || cost <= budget.units) return;
  const why = `it would cost ${cost} base units, at most ${budget.units} may be spent`;
  throw new ChainError("exceeded", why);
}

function draftOf(
  order: SendRequest,
  raw: TronRaw,
  { amount, most, likely, lacking }: Cost & {
    readonly amount: bigint | null;
    readonly lacking: bigint;
  },
): Draft {
  const body: Body = {
    raw: storedRaw(raw),
    amount: amount === null ? null : `${amount}`,
    fee: `${most}`,
  };
  return {
    order,
    fee: feeFor(most),
    likely: likely < most ? likely : most,
    feePayer: order.from,
    lacking,
    body: JSON.stringify(body),
  };
}

/** Writes a transaction as JSON holds it. */
function storedRaw({ contract, ...raw }: TronRaw): StoredRaw {
  return {
    refBlockBytes: raw.refBlockBytes,
    refBlockHash: raw.refBlockHash,
    memo: raw.memo,
    expiration: `${raw.expiration}`,
    timestamp: `${raw.timestamp}`,
    feeLimit: `${raw.feeLimit}`,
    contract: contract.type === "TransferContract"
      ? { ...contract, amount: `${contract.amount}` }
      : contract,
  };
}

/** Reads a draft's or plan's transaction, and the amount that it moves. */
export function readBody(
  text: string,
): { readonly raw: TronRaw; readonly amount: bigint | null; readonly fee: bigint } {
  const { raw, amount, fee }: Body = JSON.parse(text);
  return {
    raw: rawOfStored(raw),
    amount: amount === null ? null : BigInt(amount),
    fee: BigInt(fee),
  };
}

/** Reads a transaction as JSON held it. */
function rawOfStored({ contract, ...raw }: StoredRaw): TronRaw {
  return {
    refBlockBytes: raw.refBlockBytes,
    refBlockHash: raw.refBlockHash,
    memo: raw.memo,
    expiration: BigInt(raw.expiration),
    timestamp: BigInt(raw.timestamp),
    feeLimit: BigInt(raw.feeLimit),
    contract:
      (contract.type === "TransferContract"
        ? { ...contract, amount: BigInt(contract.amount) }
        : contract) as TronContract,
  };
}
