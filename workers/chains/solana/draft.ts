/**
 * Turns an order into a priced, tried transaction that lacks only its signatures. A node runs it first: a
 * transaction that would fail is refused before anything is signed.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { agreedDryRun, DISAGREED } from "../dry_run.ts";
import type { Peer } from "../node_pool.ts";
import type { Budget, Draft, SendRequest } from "../outgoing.ts";
import type { Speed } from "../../../domain/speeds.ts";
import {
  type Account,
  EXTENSIONS,
  type Mint,
  notWallet,
  readAccounts,
  readMint,
  type TokenAccount,
  tokenAccountIn,
  tokenAccountRent,
  tokenAddress,
  transferHookOf,
} from "./accounts.ts";
import { agreedUnits } from "./compute_units.ts";
import type { Solana } from "./context.ts";
import { assertDeployable, deploymentRent, type DeployOrder, newMint } from "./deployment.ts";
import { agreedPrices, feeFor, PRICE_SALT, type Prices } from "./fees.ts";
import { WALLET_RENT } from "./networks.ts";
import { hasFailed, readNumber } from "./node_answers.ts";
import {
  amountsOf,
  type Body,
  costOf,
  PAYMENTS_MAX,
  type PayOrder,
  type Source,
  toBytes,
  transactionOf,
} from "./payment.ts";
import { type RecentBlock, recentBlock } from "./recent_block.ts";
import { whyRefused } from "./refusals.ts";
import { isSweep, sourcesOf } from "./token_sources.ts";

/** Terms of a draft that do not come from its node. */
interface Terms {
  readonly order: PayOrder | DeployOrder;
  readonly prices: Prices;
  readonly speed: Speed;
  readonly budget: Budget | null;
  readonly recent: RecentBlock;
}

/** The holdings of a sender, and what its receivers lack. Base units, and lamports. */
interface Standing {
  /** The token; null for SOL. */
  readonly mint: Mint | null;
  /** The sender's balance of the asset. */
  readonly held: bigint;
  /** Lamports of the payer of the fee. */
  readonly coins: bigint;
  /** Of each payment, whether its receiver has no token account yet. */
  readonly creates: readonly boolean[];
  /** The token accounts that it takes from; null for the sender's associated one alone. */
  readonly sources: readonly Source[] | null;
}

/** Compute units of a dry run; then a third more than it took is asked for, because state may change. */
const COMPUTE_TRIED = 400_000;
const COMPUTE_MARGIN = { times: 4, of: 3, more: 2_000 };
/** Beyond the limit, by chance. */
const COMPUTE_SALT = 4_096;

/**
 * Tries and prices an order.
 *
 * @throws {ChainError} `refused`, `insufficient`, `exceeded`, `held`, `unavailable`
 */
export async function draftOrder(
  solana: Solana,
  order: SendRequest,
  speed: Speed,
  budget: Budget | null = null,
): Promise<Draft> {
  if (order.kind === "noop") throw new ChainError("unsupported", "SOLANA cancels no transaction");
  if (order.kind === "pay") assertPayments(order);
  else assertDeployable(order.token);
  const { nodes } = solana;
  const payer = payerOf(order);
  const prices = await agreedPrices(solana, [payer]);
  const terms = { order, prices, speed, budget, recent: await recentBlock(solana) };
  return await agreedDryRun(nodes, order, (peer) => draftThrough(solana, peer, terms));
}

function payerOf(order: SendRequest): string {
  return order.kind === "pay" ? order.feePayer ?? order.from : order.from;
}

function assertPayments({ payments }: PayOrder): void {
  if (payments.length > PAYMENTS_MAX) {
    throw refused(`${payments.length} payments do not fit a transaction: at most ${PAYMENTS_MAX}`);
  }
  if (payments.length > 1 && payments.some(({ amount }) => amount === "all")) {
    throw refused("everything can only be paid to one receiver");
  }
}

async function draftThrough(solana: Solana, peer: Peer, terms: Terms): Promise<Draft> {
  const { order, prices, speed, recent } = terms;
  const standing = order.kind === "pay"
    ? await standingOf(solana, peer, order)
    : await deployerOf(peer, order.from);
  const { mint, creates } = standing;
  const body: Body = {
    ...recent,
    feePayer: payerOf(order),
    computeLimit: COMPUTE_TRIED,
    // Two equal payments of one moment differ by it, and so do their signatures.
    price: `${prices[speed] + BigInt(randomBelow(PRICE_SALT))}`,
    token: mint === null ? null : { program: mint.program, decimals: mint.decimals },
    creates,
    sources: standing.sources,
    rent: `${rentOfOrder(order, mint, creates)}`,
    all: order.kind === "pay" && order.payments[0].amount === "all" ? `${standing.held}` : null,
    budget: terms.budget === null ? null : `${terms.budget.units}`,
    mint: order.kind === "deploy" ? await newMint(solana.web3, order.from) : null,
  };
  const cheapest = draftOf(terms, standing, withoutBid(body));
  // A node cannot run a transaction whose payer cannot pay for it.
  if (cheapest.lacking > 0n) return cheapest;
  const tried = await tryClosing(
    body,
    (one) => computeFor(solana, peer, terms, one),
  );
  return draftOf(terms, standing, tried);
}

/**
 * Tries a transaction, and where it would fail, once more without closing any account: what a stranger sends to
 * one, and is not final yet, keeps it from being closed, and must not keep the rest from being swept.
 */
async function tryClosing(body: Body, tries: (body: Body) => Promise<number>): Promise<Body> {
  const sources = body.sources?.map((one) => ({ ...one, closes: false })) ?? null;
  try {
    return { ...body, computeLimit: await tries(body) };
  } catch (error) {
    const closes = body.sources?.some((one) => one.closes) ?? false;
    if (!closes || !(error instanceof ChainError) || error.fault !== "refused") throw error;
  }
  return { ...body, sources, computeLimit: await tries({ ...body, sources }) };
}

/**
 * A dry run bids nothing: it asks for many times the units that the payment will, and at the price of a rush that is
 * more than the payer holds, or may spend.
 */
function withoutBid(body: Body): Body {
  return { ...body, price: "0" };
}

function rentOfOrder(
  order: PayOrder | DeployOrder,
  mint: Mint | null,
  creates: readonly boolean[],
): bigint {
  if (order.kind === "deploy") return deploymentRent(order.token);
  return mint === null ? 0n : tokenAccountRent(mint) * BigInt(creates.filter(Boolean).length);
}

/** A whole number below a limit, by chance. */
function randomBelow(limit: number): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] % limit;
}

/** Reads what the deployer of a token holds. */
async function deployerOf(peer: Peer, from: string): Promise<Standing> {
  const [account] = await readAccounts(peer, [from]);
  const coins = account?.lamports ?? 0n;
  return { mint: null, held: coins, coins, creates: [], sources: null };
}

/** Prices a transaction, and makes sure that it leaves its payer at nothing or at the rent's minimum. */
function draftOf({ order, budget }: Terms, standing: Standing, body: Body): Draft {
  const fee = costOf(order, body);
  if (budget !== null && fee > budget.units) {
    throw new ChainError(
      "exceeded",
      `it would cost ${fee} lamports, at most ${budget.units} may be spent`,
    );
  }
  const { feePayer } = body;
  const paid = order.kind === "pay" && order.contract === null && feePayer === order.from
    ? amountsOf(order, body, fee)
    : [];
  const needed = paid.reduce((sum, amount) => sum + amount, fee);
  const left = standing.coins - needed;
  const lacking = left === 0n || left >= WALLET_RENT ? 0n : left < 0n ? -left : WALLET_RENT - left;
  return {
    order,
    fee: feeFor(order.kind === "pay" ? order.contract : null, fee),
    feePayer,
    lacking,
    ...(standing.mint === null ? {} : { held: standing.held }),
    body: JSON.stringify(body),
  };
}

/** Reads the accounts of a payment, and refuses receivers that would lose it. */
async function standingOf(solana: Solana, peer: Peer, order: PayOrder): Promise<Standing> {
  const { from, contract, payments } = order;
  const feePayer = order.feePayer ?? from;
  const receivers = payments.map(({ to }) => to);
  const mint = contract === null ? null : await readMint(solana, peer, contract);
  if (mint !== null) assertMovable(solana, mint);
  const derive = (wallet: string) =>
    tokenAddress(solana.web3, { wallet, mint: contract!, program: mint!.program });
  const holders = mint === null ? [] : [from, ...receivers].map(derive);
  const [paying, source, ...rest] = await readAccounts(peer, [
    feePayer,
    from,
    ...receivers,
    ...holders,
  ]);
  const wallets = rest.slice(0, receivers.length);
  const tokens = rest.slice(receivers.length);
  for (const [at, wallet] of wallets.entries()) {
    const fault = notWallet(solana.web3, wallet);
    if (fault !== null) throw refused(`${receivers[at]} cannot be paid: ${fault}`);
  }
  const coins = paying?.lamports ?? 0n;
  if (mint === null || contract === null) {
    assertRent(order, wallets);
    const held = source?.lamports ?? 0n;
    assertHeld(order, held);
    return { mint, held, coins, creates: receivers.map(() => false), sources: null };
  }
  const usual = usualAccount(solana, { wallet: from, mint: contract }, tokens[0]);
  const sources = takesFromOthers(order, usual) ? await sourcesOf(solana, peer, order, mint) : null;
  const held = sources === null
    ? heldIn(usual, from)
    : sources.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  assertHeld(order, held);
  const creates = receivers.map((wallet, at) =>
    isMissing(solana, { wallet, mint: contract }, tokens[at + 1])
  );
  return { mint, held, coins, creates, sources };
}

/** A receiver below the minimum would be taken off the chain with the payment; no node takes that. */
function assertRent({ payments }: PayOrder, wallets: readonly (Account | null)[]): void {
  for (const [at, { to, amount }] of payments.entries()) {
    if (amount === "all") continue; // the dry run tells
    if ((wallets[at]?.lamports ?? 0n) + amount >= WALLET_RENT) continue;
    throw refused(`${to} would hold less than ${WALLET_RENT} lamports, the rent-exempt minimum`);
  }
}

/** @throws {ChainError} `insufficient` */
function assertHeld({ from, payments }: PayOrder, held: bigint): void {
  const asked = payments.reduce((sum, { amount }) => amount === "all" ? sum : sum + amount, 0n);
  const all = payments.some(({ amount }) => amount === "all");
  if (all ? held > 0n : held >= asked) return;
  throw new ChainError("insufficient", `${from} holds ${held}, ${all ? "nothing to pay" : asked}`);
}

/** Refuses tokens that do not arrive as they are sent. */
function assertMovable(solana: Solana, mint: Mint): void {
  const hook = transferHookOf(solana.web3, mint);
  if (hook !== null) throw refused(`the token runs the program ${hook} at each transfer`);
  if (mint.extensions.has(EXTENSIONS.nonTransferable)) throw refused("the token cannot be moved");
}

/** Reads the associated token account of a sender; null where it is not there, or not the sender's. */
function usualAccount(
  { web3 }: Solana,
  of: { wallet: string; mint: string },
  account: Account | null,
): TokenAccount | null {
  const holding = account === null ? null : tokenAccountIn(web3, account);
  return holding?.owner === of.wallet && holding.mint === of.mint ? holding : null;
}

/**
 * Tells whether an order takes from all token accounts of its sender: a sweep does, and a payment for which the
 * associated one does not suffice, because anybody may pay to any other, and that is credited too.
 */
function takesFromOthers(order: PayOrder, usual: TokenAccount | null): boolean {
  if (isSweep(order)) return true;
  const [{ amount }, ...more] = order.payments;
  if (more.length > 0) return false;
  return usual === null || usual.isFrozen || amount === "all" || usual.amount < amount;
}

/** What a sender's associated account holds; a frozen one cannot be spent. */
function heldIn(usual: TokenAccount | null, wallet: string): bigint {
  if (usual?.isFrozen) throw refused(`the issuer has frozen the token account of ${wallet}`);
  return usual?.amount ?? 0n;
}

/** Tells whether a receiver's token account has to be made; refuses one that cannot be paid. */
function isMissing(
  { web3 }: Solana,
  { wallet, mint }: { wallet: string; mint: string },
  account: Account | null,
): boolean {
  // Lamports that somebody sent there make no account of it.
  if (account === null || account.data.length === 0) return true;
  const holding = tokenAccountIn(web3, account);
  if (holding === null || holding.mint !== mint || holding.owner !== wallet) {
    throw refused(`${wallet} gave its token account away: the payment would reach somebody else`);
  }
  if (holding.isFrozen) throw refused(`the issuer has frozen the token account of ${wallet}`);
  if (!holding.wantsMemo) return false;
  throw refused(`${wallet} takes only payments with a memo, and withdrawals carry none`);
}

/**
 * Has as many nodes as the quorum run a transaction, each after it looked at the receivers itself. Gives the compute
 * units to ask for.
 */
async function computeFor(
  solana: Solana,
  peer: Peer,
  { order, budget }: Terms,
  body: Body,
): Promise<number> {
  const { times, of, more } = COMPUTE_MARGIN;
  const salt = more + randomBelow(COMPUTE_SALT);
  const limitOf = (used: number) => Math.ceil(used * times / of) + salt;
  const { own, agreed } = await agreedUnits(solana.nodes, peer, async (one) => {
    if (one.name !== peer.name && order.kind === "pay") {
      const { held } = await standingOf(solana, one, order);
      // Dust of a stranger makes nodes differ for a moment: it does not double what is there.
      if (body.all !== null && held > 2n * BigInt(body.all)) {
        throw refused(`${order.from} holds more than twice what ${peer.name} tells`);
      }
    }
    return await unitsOf(solana, one, order, withoutBid(body));
  });
  const exceeds = (used: number) =>
    budget !== null && costOf(order, { ...body, computeLimit: limitOf(used) }) > budget.units;
  // Of two counts the higher one holds: it would alone have the payment fail.
  if (exceeds(agreed) && !exceeds(own)) throw new ChainError("held", DISAGREED);
  return limitOf(agreed);
}

/** Has a node run a transaction. Gives the compute units that it took. */
async function unitsOf(
  solana: Solana,
  peer: Peer,
  order: PayOrder | DeployOrder,
  body: Body,
): Promise<number> {
  const amounts = order.kind === "pay" ? amountsOf(order, body, costOf(order, body)) : [];
  const transaction = transactionOf(solana, { order, amounts }, body);
  const how = { encoding: "base64", sigVerify: false, commitment: "confirmed" };
  const answer = readRecord(
    await peer.call("simulateTransaction", [toBytes(transaction), how]),
    "a dry run",
  );
  const result = readRecord(answer.value, "a dry run");
  const { err, logs, unitsConsumed } = result;
  if (hasFailed(result)) {
    throw whyRefused(err, logs === null ? [] : readList(logs), body.token !== null);
  }
  const used = readNumber(unitsConsumed, "compute units");
  if (used <= body.computeLimit) return used;
  throw new ChainError("unavailable", `${peer.name} took more compute units than it was given`);
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
