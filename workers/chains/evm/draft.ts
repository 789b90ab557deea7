/**
 * Turns an order into a priced, tried transaction that lacks only its nonce. The node runs it
 * first: a transaction that would fail is refused before it takes a nonce.
 * @module
 */
import { ChainError, SilentTokenError } from "../chain.ts";
import { agreedDryRun, DISAGREED } from "../dry_run.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Speed } from "../../../domain/speeds.ts";
import type { Budget, Draft, NewToken, Plan, Redraft, SendRequest } from "../outgoing.ts";
import type { Contract } from "../observations.ts";
import { reachedBy } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import type { Evm } from "./context.ts";
import { readNumber, transferCall } from "./erc20.ts";
import { agreedFeeToken, agreedPrices, ceilingOf, feeFor, type GasPrice, largest } from "./fees.ts";
import { agreedGas, gasFor, gasForNothing, type TriedCall } from "./gas.ts";
import { big, bytes, isCodeFault } from "./node_answers.ts";
import { balanceQuestion } from "./search.ts";
import artefact from "./token/Token.json" with { type: "json" };

/** A transaction without a nonce; amounts are decimal text, because it is stored as JSON. */
export interface Body {
  /** EIP-155 id, as the nodes gave it when this was drafted. */
  readonly chainId: number;
  /** Form of its bid. */
  readonly bids: "1559" | "legacy";
  /** Null creates a contract. */
  readonly to: string | null;
  /** Wei. */
  readonly value: string;
  /** Call data. */
  readonly data: string;
  /** Gas limit. */
  readonly gas: string;
  /** The most per gas. */
  readonly max: string;
  /** The miner's share per gas. */
  readonly tip: string;
  /** The most per gas that any replacement may bid, by the market at the time of the draft. */
  readonly ceiling: string;
  /** The most that it may cost in all, in units of the fee's asset; null for no limit. */
  readonly budget: string | null;
  /** The token in which the fee is paid, or null. */
  readonly feeToken: Contract;
  /** If everything is moved: the amount that the sender held. */
  readonly all: string | null;
  /** Given by the plan. */
  readonly nonce: number | null;
}

/** The call of a transaction, before its price. */
interface UnpricedCall extends TriedCall {
  /** Base units of the order's coin or token that leave, before the fee is deducted. */
  readonly amount: bigint;
}

/** Balances of the sender: coins, and the token of the order. */
interface Held {
  readonly coin: bigint;
  readonly token: bigint;
}

/** Terms of a draft that do not come from its node. */
interface Terms {
  readonly order: SendRequest;
  readonly speed: Speed;
  readonly budget: Budget | null;
  readonly chainId: number;
  readonly feeToken: Contract;
  readonly prices: Readonly<Record<Speed, GasPrice>>;
}

/** What nodes tell that an address holds differs by dust, and not by so many times. */
const PART_MAX = 2n;

/** Tries and prices an order; its gas limit times its bid per gas is within its budget. */
export async function draftOrder(
  evm: Evm,
  given: SendRequest,
  speed: Speed,
  budget: Budget | null = null,
): Promise<Draft> {
  const order = canonical(evm, given);
  const contract = order.kind === "deploy" ? null : order.contract ?? null;
  const chainId = await evm.nodes.chainId();
  const feeToken = await agreedFeeToken(evm, contract);
  const prices = await agreedPrices(evm, feeToken);
  const terms = { order, speed, budget, chainId, feeToken, prices };
  const draft = await agreedDryRun(evm.nodes, order, (peer) => draftThrough(evm, peer, terms));
  return await confirmedGas(evm, terms, draft);
}

/**
 * Prices a draft by the gas that the quorum counts: the node that tried it may count too little, so that it fails in its
 * block and costs its fee all the same, or far too much, which is sent ahead to an address that pays for itself.
 *
 * @throws {ChainError} `held` where nodes disagree
 */
async function confirmedGas(evm: Evm, terms: Terms, draft: Draft): Promise<Draft> {
  const { order, feeToken } = terms;
  const { quorum } = evm.nodes;
  if (quorum === 1 || order.kind === "noop") return draft;
  const { to, value, data, all, gas }: Body = JSON.parse(draft.body);
  const call = { to, value: BigInt(value), data, all: all !== null };
  const contract = order.kind === "pay" ? order.contract : null;
  const told = await agreedGas(evm.nodes, async (peer) => ({
    gas: await gasFor(peer, order, call, feeToken),
    held: await heldBy(peer, order.from, contract ?? feeToken),
  }));
  const heldOf = (paid: Contract) =>
    reachedBy(told.map(({ held: { coin, token } }) => paid === null ? coin : token), quorum);
  const source = all === null ? null : heldOf(contract);
  // Dust of a stranger makes nodes differ for a moment: it does not double what is there.
  const near = told.filter(({ held: { coin, token } }) =>
    source === null || (contract === null ? coin : token) <= PART_MAX * source
  );
  if (told.length >= quorum && near.length < quorum) throw new ChainError("held", DISAGREED);
  // One node that tells too much would have everything paid, and more: nobody could mine that. One that tells little
  // would have a small part leave for a whole fee.
  const isAll = source === null ||
    (BigInt(all!) <= source && source <= PART_MAX * BigInt(all!));
  if (told[0].gas === BigInt(gas) && isAll) return draft;
  const amount = all === null ? amountOf(order) : BigInt(all);
  const moved = isAll ? { ...call, amount } : callOf(evm, order, { coin: source, token: source });
  const priced = (by: bigint) =>
    priceOf(evm, terms, { ...moved, contract, gas: by, held: heldOf(feeToken) });
  // Of two counts the higher one holds: it would alone have the payment fail.
  const dear = told.filter((one) => exceeds(() => priced(one.gas))).length;
  if (dear > 0 && dear < quorum && exceeds(() => priced(told[0].gas))) {
    throw new ChainError("held", DISAGREED);
  }
  return priced(told[0].gas);
}

function exceeds(price: () => Draft): boolean {
  try {
    price();
    return false;
  } catch (error) {
    if (error instanceof ChainError && error.fault === "exceeded") return true;
    throw error;
  }
}

/** The amount of an order that does not pay everything. */
function amountOf(order: SendRequest): bigint {
  const [amount] = order.kind === "pay" ? order.payments.map((one) => one.amount) : [0n];
  return amount === "all" ? 0n : amount;
}

/**
 * Prices the replacement of an earlier plan: the same order with the same gas, or a transaction without
 * value. No node is asked whether it would work: the nonce has to be used up, whatever a node answers.
 */
export async function redraftPlan(
  evm: Evm,
  replaces: Plan,
  { speed, budget, cancels }: Redraft,
): Promise<Draft> {
  const prior: Body = JSON.parse(replaces.body);
  const { from } = replaces.order;
  const order: SendRequest = cancels ? { kind: "noop", from } : replaces.order;
  // A transaction whose fee is paid in a token is canceled in it: the sender may hold no coin, and the
  // price counts in the token.
  const gas = `${gasForNothing(prior.feeToken)}`;
  const nothing = { to: from, value: "0", data: "0x", gas, all: null };
  const body = cancels ? { ...prior, ...nothing } : prior;
  const { feeToken } = body;
  const prices = await agreedPrices(evm, feeToken);
  const contract = order.kind === "pay" ? order.contract : null;
  // A node that reports too large a balance delays nothing: an unpaid transaction is sent again.
  const { heard } = await evm.nodes.hear((peer) => heldBy(peer, from, feeToken).catch(asUnheard));
  const held = heard.map(({ answer: { coin, token } }) => feeToken === null ? coin : token)
    .reduce(largest);
  const all = body.all !== null;
  const priced = { speed, budget, chainId: prior.chainId, feeToken, prices };
  return priceOf(evm, { ...priced, order }, {
    to: body.to,
    value: BigInt(body.value),
    data: body.data,
    amount: all ? BigInt(body.all!) : cancels ? 0n : replaces.amounts[0] ?? 0n,
    all,
    contract,
    gas: BigInt(body.gas),
    held,
  });
}

async function draftThrough(evm: Evm, peer: Peer, terms: Terms): Promise<Draft> {
  const { order, feeToken } = terms;
  const contract = order.kind === "pay" ? order.contract : null;
  const held = await heldBy(peer, order.from, contract ?? feeToken);
  const call = callOf(evm, order, held);
  const gas = await gasFor(peer, order, call, feeToken);
  const paying = feeToken === null ? held.coin : held.token;
  return priceOf(evm, terms, { ...call, contract, gas, held: paying });
}

/** Counts a fee's token that tells no balance as no answer: no node says that the nonce need not be used up. */
function asUnheard(error: unknown): never {
  if (!(error instanceof SilentTokenError)) throw error;
  throw new ChainError("unavailable", error.message);
}

/** Prices a call. */
function priceOf(
  evm: Evm,
  { order, speed, budget, chainId, feeToken, prices }: Terms,
  { to, value, data, amount, all, contract, gas, held }: UnpricedCall & {
    readonly contract: Contract;
    readonly gas: bigint;
    /** The sender's balance of the fee's asset. */
    readonly held: bigint;
  },
): Draft {
  const price = prices[speed];
  // A sweep of coins leaves nothing behind only if the miner takes the whole bid.
  const exact = all && contract === null;
  const max = bidFor(gas, exact ? { ...price, max: price.likely } : price, feeToken, budget);
  const fee = gas * max;
  const body: Body = {
    chainId,
    bids: price.bids,
    to,
    value: `${value}`,
    data,
    gas: `${gas}`,
    max: `${max}`,
    tip: `${exact || price.tip > max ? max : price.tip}`,
    ceiling: `${ceilingOf(evm, prices, feeToken)}`,
    budget: budget === null ? null : `${budget.units}`,
    feeToken,
    all: all ? `${amount}` : null,
    nonce: null,
  };
  const missing = fee + (contract === feeToken && !all ? amount : 0n) - held;
  return {
    order,
    fee: feeFor(feeToken, fee),
    likely: gas * (price.likely < max ? price.likely : max),
    feePayer: order.from,
    lacking: missing > 0n ? missing : 0n,
    body: JSON.stringify(body),
  };
}

/** The most to bid per gas: the price's maximum, within the budget; never below the likely price. */
function bidFor(
  gas: bigint,
  { likely, max }: GasPrice,
  feeToken: Contract,
  budget: Budget | null,
): bigint {
  if (budget === null) return max;
  if (budget.contract !== feeToken) {
    throw new ChainError("exceeded", `its fee would be paid in ${feeToken ?? "coins"}`);
  }
  const affordable = budget.units / gas;
  if (affordable < likely) {
    const cost = gas * likely;
    const why = `${gas} gas would cost ${cost} base units, at most ${budget.units} may be spent`;
    throw new ChainError("exceeded", why);
  }
  return affordable < max ? affordable : max;
}

function canonical(evm: Evm, order: SendRequest): SendRequest {
  const { getAddress } = evm.ethers;
  const from = getAddress(order.from);
  if (order.kind === "deploy") return { ...order, from };
  const contract = order.contract ? getAddress(order.contract) : null;
  if (order.kind === "noop") return { ...order, from, contract };
  const payments = order.payments.map((one) => ({ ...one, to: getAddress(one.to) }));
  return { ...order, from, payments, contract };
}

/** @throws {SilentTokenError} where the token does not tell its balance, whichever node is asked */
async function heldBy(peer: Peer, address: string, contract: Contract): Promise<Held> {
  const holdings = [{ address, contract: null }, ...(contract ? [{ address, contract }] : [])];
  const asked = holdings.map((holding) => balanceQuestion(holding, "latest"));
  const [coin, ...token] = await peer.batch(asked);
  return {
    coin: big(allOf([coin])[0], "a balance"),
    token: contract === null ? 0n : tokenIn(contract, token[0]),
  };
}

function tokenIn(contract: string, answer: unknown): bigint {
  if (answer instanceof RpcError) {
    throw isCodeFault(answer) ? new SilentTokenError(contract) : answer;
  }
  const told = readNumber(bytes(answer));
  // A node that has not read so far yet knows no code there.
  if (told === null) throw new SilentTokenError(contract, "held");
  return told;
}

function callOf(evm: Evm, order: SendRequest, held: Held): UnpricedCall {
  const plain = { value: 0n, amount: 0n, all: false };
  if (order.kind === "noop") return { ...plain, to: order.from, data: "0x" };
  if (order.kind === "deploy") return { ...plain, to: null, data: deployData(evm, order.token) };
  if (order.payments.length !== 1) throw refused("one payment fits a transaction");
  const [{ to, amount: asked }] = order.payments;
  const source = order.contract === null ? held.coin : held.token;
  const all = asked === "all";
  const amount = all ? source : asked;
  if (amount > source || source === 0n) {
    const what = order.contract ?? "coins";
    throw new ChainError("insufficient", `${order.from} holds ${source} base units of ${what}`);
  }
  if (amount <= 0n) throw refused("nothing is to be paid");
  if (order.contract === null) return { to, value: amount, data: "0x", amount, all };
  return { to: order.contract, value: 0n, data: transferCall(to, amount), amount, all };
}

const TOKEN_TYPES = ["string", "string", "uint8", "uint256"];

function deployData(evm: Evm, token: NewToken): string {
  const values = [token.name, token.symbol, token.decimals, token.supply];
  const encoded = evm.ethers.AbiCoder.defaultAbiCoder().encode(TOKEN_TYPES, values);
  return artefact.bytecode.Token + encoded.slice(2);
}

/** Reads the token that call data deploys; null where they deploy something else. */
export function readDeployData(evm: Evm, data: string): NewToken | null {
  const code = artefact.bytecode.Token;
  if (!data.startsWith(code)) return null;
  try {
    const coder = evm.ethers.AbiCoder.defaultAbiCoder();
    const [name, symbol, decimals, supply] = coder.decode(
      TOKEN_TYPES,
      `0x${data.slice(code.length)}`,
    );
    return { name, symbol, decimals: Number(decimals), supply };
  } catch {
    return null;
  }
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
