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
import { draftTogether, type Facts } from "./agreed_facts.ts";
import { assertInTime, type TriedCall, tryCall } from "./calls.ts";
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
    async (peer) => draftBy(tron, terms, await examine(tron, peer, order)),
  );
  // What lacks was compared.
  if (tron.nodes.quorum === 1 || draft.lacking > 0n) return draft;
  return await draftTogether(tron.nodes, order, {
    examine: (peer) => examine(tron, peer, order),
    draft: (facts) => draftBy(tron, terms, facts),
  });
}

/** Asks a node whether it would take an order. */
async function examine(tron: Tron, peer: Peer, order: SendRequest): Promise<Facts> {
  if (order.kind === "deploy") {
    const owner = toHexAddress(tron.ethers, order.from);
    const { balance } = await accountOf(peer, owner);
    const data = deployData(tron.ethers, order.token);
    const tried = await tryCall(peer, { from: owner, contract: null, data });
    assertInTime(tried);
    if (tried.fault !== null) throw new ChainError("refused", tried.fault);
    return { amount: null, held: balance, isNew: false, tried };
  }
  const parties = partiesOf(tron, order);
  const [{ amount: asked }] = payOf(order).payments;
  const recipient = await assertPayable(peer, parties);
  const { balance } = await accountOf(peer, parties.from.hex);
  if (parties.contract === null) {
    const amount = amountOf(order, asked, balance);
    return { amount, held: balance, isNew: !recipient.exists, tried: null };
  }
  const held = await tokenBalance(peer, parties.contract.hex, parties.from.hex);
  const amount = amountOf(order, asked, held);
  const { contract, data } = transferOf(parties, amount);
  const tried = await tryCall(peer, { from: parties.from.hex, contract, data });
  assertInTime(tried);
  assertTransfers(parties, tried);
  return { amount, held: balance, isNew: false, tried };
}

/** Prices an order by what nodes tell of it. */
function draftBy(tron: Tron, terms: Terms, { amount, held, isNew, tried }: Facts): Draft {
  const { order } = terms;
  if (order.kind === "deploy") {
    const owner = toHexAddress(tron.ethers, order.from);
    const bytecode = deployData(tron.ethers, order.token);
    return runContract(terms, {
      contract: { type: "CreateSmartContract", owner, bytecode, name: "Token" },
      tried: tried!,
      amount: null,
      held,
      feeLimitMax: FEE_LIMIT_DEPLOY_MAX,
    });
  }
  const parties = partiesOf(tron, order);
  if (tried === null) return payCoins(terms, { parties, isNew, held, all: amount! });
  const contract: TronContract = {
    type: "TriggerSmartContract",
    owner: parties.from.hex,
    ...transferOf(parties, amount!),
  };
  return runContract(terms, { contract, tried, amount, held, feeLimitMax: FEE_LIMIT_MAX });
}

function payOf(order: SendRequest): SendRequest & { readonly kind: "pay" } {
  if (order.kind === "pay" && order.payments.length === 1) return order;
  throw new ChainError("refused", "one payment fits a transaction");
}

function partiesOf(tron: Tron, order: SendRequest): Parties {
  const { from, contract, payments: [{ to }] } = payOf(order);
  const party = (address: string) => ({ address, hex: toHexAddress(tron.ethers, address) });
  return {
    from: party(from),
    to: party(to),
    contract: contract === null ? null : party(contract),
  };
}

/** The call that moves a token. */
function transferOf({ to, contract }: Parties, amount: bigint): { contract: string; data: string } {
  const data = transferCall(toContractForm(to.hex), amount).slice(2);
  return { contract: contract!.hex, data };
}

/** Drafts a payment of TRX, which runs no contract. */
function payCoins(
  terms: Terms,
  { parties, isNew, held, all }: {
    readonly parties: Parties;
    readonly isNew: boolean;
    readonly held: bigint;
    /** What leaves, with the fee where everything does. */
    readonly all: bigint;
  },
): Draft {
  const { order, moment, budget } = terms;
  const [{ amount: asked }] = payOf(order).payments;
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
  const { order, prices, moment, budget } = terms;
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
  const most = feeLimit + net.most;
  const lacking = larger(most - held, 0n);
  // Without energy and bandwidth of a stake: whoever has delegated them, perhaps a stranger, takes them back at will.
  const likely = needed + net.most;
  return draftOf(order, rawOf(feeLimit), { amount, most, likely, lacking });
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
