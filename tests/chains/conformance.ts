/**
 * Duties of every chain adapter, whatever its family. A test file of a chain gives a fixture, which
 * is a real node and a rich account on it, and calls {@link conformance}.
 * @module
 */
import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { type Chain, ChainError, type ChainFault } from "../../workers/chains/chain.ts";
import { SPEEDS } from "../../domain/speeds.ts";
import {
  feeOf,
  type Inputs,
  type Plan,
  readPlan,
  type SendRequest,
  type Signed,
  type TransactionStatus,
  writePlan,
} from "../../workers/chains/outgoing.ts";
import type { Scanned, WatchList } from "../../workers/chains/observations.ts";

/** A real chain to play on. */
export interface Fixture extends AsyncDisposable {
  readonly chain: Chain;
  /** Somebody with plenty of coins, mined and free to spend. */
  readonly payer: Party;
  /** A payment of ordinary size, in base units: far above dust, far below what the payer has. */
  readonly amount: bigint;
  /** Makes up somebody new, without coins. */
  party(): Promise<Party>;
  /** The inputs that the database would offer for a sender. */
  available(address: string): Promise<Inputs>;
  /** Pays from outside, into the mempool. Gives the transaction id. */
  pay(to: string, amount: bigint): Promise<string>;
  mine(blocks?: number): Promise<void>;
  /** Replaces so many of the newest blocks by others without ours; absent where no node does. */
  readonly reorganise?: (blocks: number) => Promise<void>;
  /** Opens the adapter on this node as if it were of another network. */
  openElsewhere(): Promise<Chain>;
}

/** A fixture whose node replaces blocks on demand. */
export type ReorganisingFixture = Fixture & Required<Pick<Fixture, "reorganise">>;

/** Somebody who can sign. */
export interface Party {
  readonly address: string;
  readonly key: Uint8Array;
}

/** How a suite is run. */
export interface SuiteOptions {
  /** Its node is not installed. */
  readonly ignore?: boolean;
  /** Its node replaces blocks on demand. Else the tests that need this are named and skipped. */
  readonly reorganises?: boolean;
}

/** Registers the suite for a chain. */
export function conformance(
  name: string,
  start: () => Promise<Fixture>,
  options: SuiteOptions = {},
): void {
  for (const test of suite(name, start, options)) Deno.test(test);
}

/** The tests of the suite for a chain. */
export function suite(
  name: string,
  start: () => Promise<Fixture>,
  { ignore = false, reorganises = true }: SuiteOptions,
): Deno.TestDefinition[] {
  const acts: Readonly<Record<string, (fixture: ReorganisingFixture) => Promise<void>>> = {
    "blocks are linked by parent hash up to the head": blocksLink,
    "a scan finds each payment once, however the range is cut": scanFindsOnce,
    "a scan above the head is unavailable, not empty": scanAboveHead,
    "recheck() confirms what is there and denies what a reorganisation took": recheckFollows,
    "quote() prices slow, medium and fast in this order": quoteRises,
    "a payment is known by its hash before it is sent, and followed to its confirmation": payment,
    "the same plan signs to the same bytes, also after it was stored": signsAlike,
    "sign() refuses without the key, or with another": signRefuses,
    "what the sender does not have is insufficient": insufficient,
    "a sweep leaves nothing behind": sweep,
    "a replacement wins, and only then is the first one dead": replacement,
    "a noop cancels what it replaces": cancel,
    "a payment that a reorganisation dropped is sent again with the same bytes": dropped,
    "several payments share a transaction where the chain allows it": several,
    "a node of another network is refused": elsewhere,
    "a closed chain fails as unavailable": closed,
  };
  return Object.entries(acts).map(([act, run]) => {
    const isUnfit = !reorganises && (run === recheckFollows || run === dropped);
    return {
      name: `${name}: ${act}${isUnfit ? " (its node replaces no blocks)" : ""}`,
      ignore: ignore || isUnfit,
      async fn() {
        await using fixture = await start();
        await run(fixture as ReorganisingFixture);
      },
    };
  });
}

/** Asserts that something fails with a fault. */
export async function failsAs(fault: ChainFault, work: Promise<unknown>): Promise<void> {
  await rejects(work, (error: unknown) => {
    ok(error instanceof ChainError, `a ChainError is expected, not ${error}`);
    equal(error.fault, fault, error.message);
    return true;
  });
}

/** Drafts, plans and signs an order of a party. */
export async function signed(
  { chain, available }: Pick<Fixture, "chain" | "available">,
  party: Party,
  order: SendRequest,
  replaces?: Plan,
): Promise<{ plan: Plan; signed: Signed }> {
  const draft = await chain.draft(order, "fast");
  const plan = chain.plan(draft, await available(party.address), replaces);
  return { plan, signed: await chain.sign(plan, new Map([[party.address, party.key]])) };
}

/** Collects a scan. */
export async function scanned(
  chain: Chain,
  from: number,
  to: number,
  watch: WatchList,
): Promise<Scanned[]> {
  return await Array.fromAsync(chain.scan(from, to, watch));
}

/** Makes a watch of addresses, and of inputs where they matter. */
export function watching(addresses: readonly string[], inputs: readonly string[] = []): WatchList {
  return { addresses: new Set(addresses), inputs: new Set(inputs), contracts: null };
}

/** A native payment. */
export function pays(from: Party, to: string, amount: bigint | "all"): SendRequest {
  return { kind: "pay", from: from.address, contract: null, payments: [{ to, amount }] };
}

/** Asserts a state, and gives the status as of that state. */
export function statusIs<S extends TransactionStatus["state"]>(
  status: TransactionStatus,
  state: S,
): TransactionStatus & { state: S } {
  equal(status.state, state);
  return status as TransactionStatus & { state: S };
}

async function blocksLink({ chain, mine }: Fixture): Promise<void> {
  await mine(3);
  const head = await chain.head();
  const parent = await chain.block(head.height - 1);
  equal(parent?.hash, head.parentHash);
  equal((await chain.block(head.height))?.hash, head.hash);
  equal(await chain.block(head.height + 10), null);
  ok(head.finalized === null || head.finalized <= head.height);
}

async function scanFindsOnce(fixture: Fixture): Promise<void> {
  const { chain, pay, mine, party, amount } = fixture;
  const [ours, other] = [await party(), await party()];
  const from = (await chain.head()).height + 1;
  const hashes = [await pay(ours.address, amount), await pay(ours.address, 2n * amount)];
  await pay(other.address, amount);
  await mine();
  hashes.push(await pay(ours.address, 3n * amount));
  await mine(2);
  const to = (await chain.head()).height;
  const watch = watching([ours.address]);
  const whole = await scanned(chain, from, to, watch);
  deepEqual(whole.map(({ block }) => block.height), range(from, to));
  const found = whole.flatMap(({ transfers }) => transfers);
  deepEqual(
    found.map((one) => [one.hash, one.amount]).sort(),
    [
      [hashes[0], amount],
      [hashes[1], 2n * amount],
      [hashes[2], 3n * amount],
    ].sort(),
  );
  for (const { to: payee, contract, block } of found) {
    deepEqual([payee, contract], [ours.address, null]);
    equal(block?.hash, (await chain.block(block?.height ?? -1))?.hash);
  }
  const singly: Scanned[] = [];
  for (const height of range(from, to)) singly.push(...await scanned(chain, height, height, watch));
  deepEqual(singly, whole);
}

async function scanAboveHead({ chain, party }: Fixture): Promise<void> {
  const { height } = await chain.head();
  const watch = watching([(await party()).address]);
  await failsAs("unavailable", scanned(chain, height, height + 1, watch));
}

async function recheckFollows(fixture: ReorganisingFixture): Promise<void> {
  const { chain, pay, mine, party, amount, reorganise } = fixture;
  const ours = await party();
  await pay(ours.address, amount);
  await mine();
  const { height } = await chain.head();
  const [{ transfers: [transfer] }] = await scanned(
    chain,
    height,
    height,
    watching([ours.address]),
  );
  const checked = await chain.recheck(transfer);
  deepEqual(checked, { transfer, received: amount, proven: true });
  await reorganise(1);
  equal(await chain.recheck(transfer), null);
}

async function quoteRises({ chain }: Fixture): Promise<void> {
  const quoted = await chain.quote(null);
  const costs = SPEEDS.map((speed) => feeOf(quoted[speed], 2, 1));
  ok(costs[0] > 0n && costs[0] <= costs[1] && costs[1] <= costs[2], costs.join());
  ok(SPEEDS.every((speed) => quoted[speed].least > 0n));
}

async function payment(fixture: Fixture): Promise<void> {
  const { chain, payer, mine, party, amount } = fixture;
  const to = await party();
  const since = (await chain.head()).height;
  const { plan, signed: bytes } = await signed(fixture, payer, pays(payer, to.address, amount));
  const ask = () => chain.status({ attempts: [bytes], since, depth: 1 });
  statusIs(await ask(), "unseen");
  const seen = await chain.inspect(bytes.raw);
  deepEqual([seen.hash, seen.inputs, bytes.inputs], [bytes.hash, plan.inputs, plan.inputs]);
  ok(seen.payments.some((one) => one.to === to.address && one.amount === amount));
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  ok(["accepted", "known"].includes((await chain.broadcast(bytes)).outcome));
  equal(statusIs(await ask(), "pending").hash, bytes.hash);
  await mine();
  const mined = statusIs(await ask(), "mined");
  deepEqual([mined.hash, mined.confirmations, mined.success], [bytes.hash, 1, true]);
  ok(mined.fee > 0n && mined.fee <= plan.fee);
  await mine(2);
  equal(statusIs(await ask(), "mined").confirmations, 3);
  const balances = await chain.balances([{ address: to.address, contract: null }], null);
  deepEqual(balances.amounts, [amount]);
  const [{ consumed, transfers }] = await scanned(
    chain,
    mined.block.height,
    mined.block.height,
    watching([to.address], plan.inputs),
  );
  deepEqual(consumed, plan.inputs.map((input) => ({ input, hash: bytes.hash })));
  deepEqual(transfers.map((one) => one.index), plan.outputs ?? transfers.map((one) => one.index));
  ok(["known", "unknown"].includes((await chain.broadcast(bytes)).outcome));
}

async function signsAlike(fixture: Fixture): Promise<void> {
  const { chain, payer, party, amount } = fixture;
  const { plan, signed: bytes } = await signed(
    fixture,
    payer,
    pays(payer, (await party()).address, amount),
  );
  const stored = readPlan(writePlan(plan));
  deepEqual(stored, plan);
  deepEqual(await chain.sign(stored, new Map([[payer.address, payer.key]])), bytes);
}

async function signRefuses(fixture: Fixture): Promise<void> {
  const { chain, payer, party, amount } = fixture;
  const other = await party();
  const { plan } = await signed(fixture, payer, pays(payer, other.address, amount));
  await failsAs("refused", chain.sign(plan, new Map()));
  await failsAs("refused", chain.sign(plan, new Map([[payer.address, other.key]])));
}

async function insufficient(fixture: Fixture): Promise<void> {
  const poor = await fixture.party();
  const order = pays(poor, fixture.payer.address, fixture.amount);
  await failsAs("insufficient", signed(fixture, poor, order));
}

async function sweep(fixture: Fixture): Promise<void> {
  const { chain, pay, mine, party, amount } = fixture;
  const [ours, target] = [await party(), await party()];
  await pay(ours.address, amount);
  await mine();
  const { plan, signed: bytes } = await signed(fixture, ours, pays(ours, target.address, "all"));
  equal(plan.amounts[0] + plan.fee, amount);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await mine();
  const { height } = await chain.head();
  const status = await chain.status({ attempts: [bytes], since: height - 1, depth: 1 });
  equal(statusIs(status, "mined").fee, plan.fee);
  const both = [ours, target].map(({ address }) => ({ address, contract: null }));
  deepEqual((await chain.balances(both, null)).amounts, [0n, amount - plan.fee]);
}

async function replacement(fixture: Fixture): Promise<void> {
  const { chain, payer, mine, party, amount } = fixture;
  const to = await party();
  const since = (await chain.head()).height;
  const order = pays(payer, to.address, amount);
  const first = await signed(fixture, payer, order);
  if (!chain.traits.replaceable) {
    await failsAs("unsupported", signed(fixture, payer, order, first.plan));
    return;
  }
  await chain.broadcast(first.signed);
  const second = await signed(fixture, payer, order, first.plan);
  ok(second.plan.inputs.some((input) => first.plan.inputs.includes(input)));
  ok(second.plan.fee * 10n >= first.plan.fee * 11n, "a tenth more is needed");
  notEqual(second.signed.hash, first.signed.hash);
  equal((await chain.broadcast(second.signed)).outcome, "accepted");
  await mine();
  const both = [first.signed, second.signed];
  const depth = 3;
  equal(
    statusIs(await chain.status({ attempts: both, since, depth }), "mined").hash,
    second.signed.hash,
  );
  const alone = () => chain.status({ attempts: [first.signed], since, depth });
  statusIs(await alone(), "unseen");
  await mine(depth - 1);
  const { height } = await chain.head();
  const dead = statusIs(await alone(), "dropped");
  deepEqual([dead.proof, dead.height], ["consumed", height - depth + 1]);
  ok(dead.by === null || dead.by === second.signed.hash);
  const balances = await chain.balances([{ address: to.address, contract: null }], null);
  deepEqual(balances.amounts, [amount]);
}

async function cancel(fixture: Fixture): Promise<void> {
  const { chain, payer, mine, party, amount } = fixture;
  if (!chain.traits.replaceable) return;
  const to = await party();
  const first = await signed(fixture, payer, pays(payer, to.address, amount));
  await chain.broadcast(first.signed);
  const noop = await signed(fixture, payer, { kind: "noop", from: payer.address }, first.plan);
  equal((await chain.broadcast(noop.signed)).outcome, "accepted");
  await mine();
  const balances = await chain.balances([{ address: to.address, contract: null }], null);
  deepEqual(balances.amounts, [0n]);
}

async function dropped(fixture: ReorganisingFixture): Promise<void> {
  const { chain, payer, mine, party, amount, reorganise } = fixture;
  const to = await party();
  const since = (await chain.head()).height;
  const { signed: bytes } = await signed(fixture, payer, pays(payer, to.address, amount));
  const ask = () => chain.status({ attempts: [bytes], since, depth: 1 });
  await chain.broadcast(bytes);
  await mine();
  const before = statusIs(await ask(), "mined").block.hash;
  await reorganise(1);
  ok(["unseen", "pending"].includes((await ask()).state));
  ok(["accepted", "known"].includes((await chain.broadcast(bytes)).outcome));
  await mine();
  notEqual(statusIs(await ask(), "mined").block.hash, before);
  const balances = await chain.balances([{ address: to.address, contract: null }], null);
  deepEqual(balances.amounts, [amount]);
}

async function several(fixture: Fixture): Promise<void> {
  const { chain, payer, mine, party, amount } = fixture;
  const [one, two] = [await party(), await party()];
  const payments = [{ to: one.address, amount }, { to: two.address, amount: 2n * amount }];
  const order: SendRequest = { kind: "pay", from: payer.address, contract: null, payments };
  if (chain.traits.paymentsMax < 2) {
    await failsAs("refused", signed(fixture, payer, order));
    return;
  }
  const { plan, signed: bytes } = await signed(fixture, payer, order);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await mine();
  const { height } = await chain.head();
  const found = await scanned(chain, height, height, watching([one.address, two.address]));
  const arrived = found.flatMap(({ transfers }) => transfers);
  const each = payments.map(({ to }) => arrived.find((transfer) => transfer.to === to));
  deepEqual(each.map((transfer) => transfer?.amount), payments.map(({ amount }) => amount));
  if (plan.outputs !== null) deepEqual(each.map((transfer) => transfer?.index), plan.outputs);
}

async function elsewhere({ openElsewhere }: Fixture): Promise<void> {
  const chain = await openElsewhere();
  await failsAs("wrong_chain", chain.head());
  chain.close();
}

async function closed({ chain }: Fixture): Promise<void> {
  chain.close();
  await failsAs("unavailable", chain.head());
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, step) => from + step);
}
