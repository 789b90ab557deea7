/**
 * From an order to a priced, tried transaction that lacks only its nonce. The node is asked to run
 * it first: what would fail is refused before a nonce is spent on it.
 * @module
 */
import { ChainError } from "../chain.ts";
import { allOf, type Nodes, type Peer } from "../node.ts";
import type { Budget, Draft, NewToken, Order, Speed } from "../order.ts";
import { type Heard, unconfirmed } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import type { Contract } from "../sight.ts";
import type { Evm } from "./context.ts";
import { readNumber, saidYes, transferCall } from "./erc20.ts";
import {
  agreedPrices,
  ceilingOf,
  feeFor,
  feeTokenFor,
  GAS_FEE_TOKEN,
  GAS_NATIVE,
  type GasPrice,
} from "./fees.ts";
import { big, bytes, toHex } from "./node.ts";
import { balanceQuestion } from "./search.ts";
import artefact from "./token/Token.json" with { type: "json" };

/** A transaction without a nonce; amounts are decimal text, for it is kept as JSON. */
export interface Body {
  /** EIP-155 id, as the nodes gave it when this was drafted. */
  readonly chainId: number;
  /** How it bids. */
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
  /** The miner's part per gas. */
  readonly tip: string;
  /** The most per gas that any replacement may bid, as the market was when this was drafted. */
  readonly ceiling: string;
  /** The most that it may cost as a whole, in units of what pays its fee; null for no bound. */
  readonly budget: string | null;
  /** The token in which the fee is paid, or null. */
  readonly feeToken: Contract;
  /** If everything is to be moved: what the sender held of it. */
  readonly all: string | null;
  /** Given by the plan. */
  readonly nonce: number | null;
}

/** What a transaction calls, before its price. */
interface Wish {
  readonly to: string | null;
  readonly value: bigint;
  readonly data: string;
  /** Base units of the order's coin or token that leave, before a fee is kept back. */
  readonly amount: bigint;
  /** Everything is to leave; and if it is the asset of the fee, less the fee. */
  readonly all: boolean;
}

/** What the sender holds: coins, and of the token in question. */
interface Held {
  readonly coin: bigint;
  readonly token: bigint;
}

const GAS_PAY_MAX = 1_000_000n;
const GAS_DEPLOY_MAX = 6_000_000n;
/** Per cent of the node's estimate, since state may change before the block. */
const GAS_MARGIN = 110n;

/** What a draft is made with, besides what its node tells. */
interface Terms {
  readonly order: Order;
  readonly speed: Speed;
  readonly budget: Budget | null;
  readonly chainId: number;
  readonly feeToken: Contract;
  readonly prices: Readonly<Record<Speed, GasPrice>>;
}

/** Tries and prices an order; its gas limit times what it bids per gas is within its budget. */
export async function draftOrder(
  evm: Evm,
  given: Order,
  speed: Speed,
  budget: Budget | null = null,
): Promise<Draft> {
  const order = canonical(evm, given);
  const contract = order.kind === "pay" ? order.contract : null;
  const chainId = await evm.nodes.chainId();
  const feeToken = await evm.nodes.ask((peer) => feeTokenFor(evm, peer, contract));
  const prices = await agreedPrices(evm, feeToken);
  const terms = { order, speed, budget, chainId, feeToken, prices };
  return await unlessRefused(evm.nodes, (peer) => draftThrough(evm, peer, terms));
}

/**
 * Does a piece of work through one node. That it refuses ends an order, so as many must say so as the
 * quorum; nodes that do not agree on it keep it waiting.
 *
 * @throws {ChainError} what the quorum says, `unavailable` where it says nothing
 */
async function unlessRefused<T>(nodes: Nodes, work: (peer: Peer) => Promise<T>): Promise<T> {
  const { quorum } = nodes;
  try {
    return await nodes.ask(work);
  } catch (error) {
    if (quorum === 1 || !isVerdict(error)) throw error;
  }
  const { heard, failures } = await nodes.hear(
    (peer) => work(peer).then((done) => ({ done, refusal: null }), refusalIn),
    (some) => [true, false].some((no) => camp(some, no).length >= quorum),
  );
  const [refusals, done] = [camp(heard, true), camp(heard, false)];
  if (refusals.length >= quorum) throw refusals[0].answer.refusal;
  if (done.length >= quorum) return done[0].answer.done!;
  const count = { confirm: refusals.length, nodes: nodes.peers.length, quorum };
  throw unconfirmed(
    count,
    "that it would fail",
    [refusals[0]?.answer.refusal ?? [], failures].flat(),
  );
}

/** What a node made of a piece of work. */
interface Tried<T> {
  readonly done: T | null;
  readonly refusal: ChainError | null;
}

function camp<T>(heard: readonly Heard<Tried<T>>[], refused: boolean): readonly Heard<Tried<T>>[] {
  return heard.filter(({ answer }) => (answer.refusal !== null) === refused);
}

function refusalIn(error: unknown): Tried<never> {
  if (isVerdict(error)) return { done: null, refusal: error };
  throw error;
}

function isVerdict(error: unknown): error is ChainError {
  return error instanceof ChainError && (error.fault === "refused" || error.fault === "exceeded");
}

async function draftThrough(evm: Evm, peer: Peer, terms: Terms): Promise<Draft> {
  const { order, speed, budget, chainId, feeToken, prices } = terms;
  const contract = order.kind === "pay" ? order.contract : null;
  const price = prices[speed];
  const held = await heldBy(peer, order.from, contract);
  const wish = wishOf(evm, order, held);
  const gas = await gasFor(peer, order, wish, feeToken);
  // A sweep of coins leaves nothing behind only if the miner takes all that is offered.
  const exact = wish.all && contract === null;
  const max = bidFor(gas, exact ? { ...price, max: price.likely } : price, feeToken, budget);
  const fee = gas * max;
  const body: Body = {
    chainId,
    bids: price.bids,
    to: wish.to,
    value: `${wish.value}`,
    data: wish.data,
    gas: `${gas}`,
    max: `${max}`,
    tip: `${exact || price.tip > max ? max : price.tip}`,
    ceiling: `${ceilingOf(evm, prices, feeToken)}`,
    budget: budget === null ? null : `${budget.units}`,
    feeToken,
    all: wish.all ? `${wish.amount}` : null,
    nonce: null,
  };
  const sameAsset = contract === feeToken;
  const needed = fee + (sameAsset && !wish.all ? wish.amount : 0n);
  const missing = needed - (feeToken === null ? held.coin : held.token);
  return {
    order,
    fee: feeFor(feeToken, fee),
    likely: gas * (price.likely < max ? price.likely : max),
    feePayer: order.from,
    lacking: missing > 0n ? missing : 0n,
    body: JSON.stringify(body),
  };
}

/** The most that is bid per gas: what the price wants, within the budget; not below what is likely. */
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

function canonical(evm: Evm, order: Order): Order {
  const { getAddress } = evm.ethers;
  const from = getAddress(order.from);
  if (order.kind !== "pay") return { ...order, from };
  const payments = order.payments.map((one) => ({ ...one, to: getAddress(one.to) }));
  const contract = order.contract === null ? null : getAddress(order.contract);
  return { ...order, from, payments, contract };
}

async function heldBy(peer: Peer, address: string, contract: Contract): Promise<Held> {
  const holdings = [{ address, contract: null }, ...(contract ? [{ address, contract }] : [])];
  const asked = holdings.map((holding) => balanceQuestion(holding, "latest"));
  const [coin, token] = allOf(await peer.batch(asked));
  return {
    coin: big(coin, "a balance"),
    token: token === undefined ? 0n : readNumber(bytes(token)) ?? 0n,
  };
}

function wishOf(evm: Evm, order: Order, held: Held): Wish {
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

async function gasFor(
  peer: Peer,
  order: Order,
  wish: Wish,
  feeToken: Contract,
): Promise<bigint> {
  if (order.kind === "noop") return GAS_NATIVE;
  const { to, data } = wish;
  if (data === "0x" && bytes(await peer.call("eth_getCode", [to, "latest"])) === "0x") {
    return GAS_NATIVE;
  }
  // Of a sweep the fee will be kept back, so it is tried with a little.
  const value = wish.all && wish.value > 0n ? 1n : wish.value;
  const call = { from: order.from, to: to ?? undefined, data, value: toHex(value) };
  if (order.kind === "pay" && order.contract !== null) await tryTransfer(peer, call);
  const estimate = big(await attempted(() => peer.call("eth_estimateGas", [call])), "gas");
  const gas = (estimate * GAS_MARGIN) / 100n + (feeToken === null ? 0n : GAS_FEE_TOKEN);
  const most = order.kind === "deploy" ? GAS_DEPLOY_MAX : GAS_PAY_MAX;
  if (gas > most) throw refused(`it would take ${gas} gas, at most ${most} is spent`);
  return gas;
}

/** A token may say no without failing, and the fee would be spent on nothing. */
async function tryTransfer(peer: Peer, call: unknown): Promise<void> {
  const answer = bytes(await attempted(() => peer.call("eth_call", [call, "latest"])));
  if (!saidYes(answer)) throw refused("the token refuses the transfer");
}

async function attempted(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (/insufficient (funds|balance)/i.test(error.message)) {
      throw new ChainError("insufficient", error.message);
    }
    if (error.code === 3 || /revert|invalid opcode|out of gas|outofgas/i.test(error.message)) {
      throw refused(error.message);
    }
    throw error;
  }
}

function deployData(evm: Evm, token: NewToken): string {
  const values = [token.name, token.symbol, token.decimals, token.supply];
  const types = ["string", "string", "uint8", "uint256"];
  const encoded = evm.ethers.AbiCoder.defaultAbiCoder().encode(types, values);
  return artefact.bytecode.Token + encoded.slice(2);
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
