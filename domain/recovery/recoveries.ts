/**
 * Recovers transactions that own keys signed and the database lost. A sweep is booked as a sweep,
 * and a payment ends its withdrawal. The account `fees` bears an unexplained payment until an
 * operator assigns it.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import { markOrphaned } from "../../db/deposits/deposits.ts";
import { selectKeptTokens } from "../../db/currencies/tokens.ts";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import { insertReservedInputs } from "../../db/sending/order_attempts.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import {
  insertMinedBytes,
  type OwnPlace,
  releaseDeposits,
  selectHeldDeposits,
  selectKnownHashes,
  selectOwnPlaces,
  selectPaidUnfound,
  selectUnsigned,
} from "../../db/recovery/recoveries.ts";
import { joinSweep, lockOpenSweep, updateSweep } from "../../db/deposits/sweeps.ts";
import { type HistoryEntry, updateWithdrawal } from "../../db/withdrawals/withdrawals.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, findAsset, nativeAsset, tokenByContract } from "../assets.ts";
import { newId } from "../ids.ts";
import { counterparty, postMove } from "../ledger/posting.ts";
import { fromUnits, toUnits } from "../money.ts";
import {
  cancelOrder,
  type OrderRow,
  type PaymentRequest,
  scheduleOrder,
  undoBatch,
} from "../sending/chain_orders.ts";
import { divideFee, progressBatch } from "../withdrawals/withdrawal_batches.ts";
import { unplanOrder } from "../sending/signing_holds.ts";
import { settleWithdrawal } from "../withdrawals/withdrawal_settlement.ts";
import { errorField } from "../errors.ts";
import { bookGas } from "../sending/network_fees.ts";
import { endWithBatch, type FoundOrder, joinFound, recordMined } from "../sending/order_states.ts";

/** A mined transaction that an own key signed. */
export interface FoundTransaction {
  readonly hash: string;
  readonly raw: string;
  readonly height: number;
  readonly inputs: readonly string[];
  /** The own address that signed it. */
  readonly from: string;
  /** Its fee in base units, if the bytes tell it. */
  readonly fee: bigint | null;
  /** All its payments, change included. */
  readonly payments: readonly FoundPayment[];
}

/** A payment of a transaction; amount in base units. */
export interface FoundPayment {
  readonly to: string;
  readonly contract: string | null;
  readonly amount: bigint;
}

/** The result of recovering a transaction. */
export interface Taken {
  hash: string;
  purpose: "sweep" | "recovered";
  /** Withdrawals that it paid. */
  paid: string[];
  /** Payments that no withdrawal explains. */
  unmatched: { to: string; contract: string | null; amount: string }[];
}

/** One payment of a recovered order, as its request keeps it. */
interface Part {
  to: string;
  contract: string | null;
  amount: string;
  /** The order of the withdrawal that it paid. */
  order: string | null;
  /** The withdrawal that an operator had declared paid before. */
  withdrawal: string | null;
}

/** Recovers an own transaction that the database does not know; null if it knows it. */
export async function takeIn(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  found: FoundTransaction,
): Promise<Taken | null> {
  if ((await selectKnownHashes(tx, [found.hash])).length > 0) return null;
  const places = await selectOwnPlaces(tx, place, [
    found.from,
    ...found.payments.map(({ to }) => to),
  ]);
  const own = new Map(places.map((one) => [one.address, one]));
  const sender = own.get(found.from);
  if (sender === undefined) throw new TypeError(`${found.from} is no address of ours`);
  const gone = found.payments.filter(({ to, amount }) => to !== found.from && amount > 0n);
  const [first] = gone;
  const target = first === undefined ? undefined : own.get(first.to);
  const swept = gone.length === 1 && sender.derivation_key > 0 && target?.ramp === sender.ramp &&
    target.derivation_key === 0;
  return swept
    ? await takeSweep(tx, actor, place, { found, sender, payment: first })
    : await takePayments(tx, actor, place, { found, sender, gone, own });
}

async function takeSweep(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  of: { found: FoundTransaction; sender: OwnPlace; payment: FoundPayment },
): Promise<Taken> {
  const { found, sender, payment } = of;
  const { chain, network } = place;
  const id = newId(actor.at);
  const sweep = await lockOpenSweep(tx, {
    id: newId(actor.at),
    chain,
    network,
    account: sender.account,
    ramp: sender.ramp,
    created_at: actor.at,
  });
  if (sweep.order_id !== null) await cancelOrder(tx, actor, sweep.order_id);
  await joinSweep(tx, sender.account, sweep.id);
  await keepFound(tx, actor, place, {
    found,
    id,
    order: {
      purpose: "sweep",
      ramp: sender.ramp,
      reference_id: sweep.id,
      request: {
        kind: "pay",
        from: found.from,
        contract: payment.contract,
        payments: [{ to: payment.to, amount: `${payment.amount}` }],
      },
      contract: payment.contract ?? "",
      amount: `${payment.amount}`,
    },
  });
  await updateSweep(tx, sweep.id, { state: "sweeping", order_id: id, hash: found.hash });
  await settleHeld(tx, actor, place, { found, external: new Set() });
  return { hash: found.hash, purpose: "sweep", paid: [], unmatched: [] };
}

async function takePayments(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  of: {
    found: FoundTransaction;
    sender: OwnPlace;
    gone: readonly FoundPayment[];
    own: ReadonlyMap<string, OwnPlace>;
  },
): Promise<Taken> {
  const { found, sender, gone, own } = of;
  const id = newId(actor.at);
  const arrived = new Set(
    (await selectHeldDeposits(tx, place, { hashes: [found.hash] })).map(({ address }) => address),
  );
  const external = gone.filter(({ to }) => !own.has(to) || arrived.has(to));
  const parts = await matchParts(tx, actor, place, { sender, external });
  await keepFound(tx, actor, place, {
    found,
    id,
    order: {
      purpose: "recovered",
      ramp: sender.ramp,
      reference_id: null,
      request: { kind: "recovered", payments: parts },
      contract: "",
      amount: "0",
    },
  });
  const paid = parts.flatMap(({ order }) => order ?? []);
  for (const order of paid) await joinFound(tx, (await lockOrder(tx, order))!, id);
  const { hash, height } = found;
  await progressBatch(tx, actor, { id, hash, height, confirmations: 0 } as OrderRow);
  await settleHeld(tx, actor, place, { found, external: new Set(external.map(({ to }) => to)) });
  const unmatched = parts.filter((one) => one.order === null && one.withdrawal === null);
  return {
    hash: found.hash,
    purpose: "recovered",
    paid,
    unmatched: unmatched.map(({ to, contract, amount }) => ({ to, contract, amount })),
  };
}

/** Finds the withdrawals that payments were for, by destination, token and amount. */
async function matchParts(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  { sender, external }: { sender: OwnPlace; external: readonly FoundPayment[] },
): Promise<Part[]> {
  const waiting = (await selectUnsigned(tx, place, [sender.ramp]))
    .filter((one) => one.purpose === "withdrawal" && one.sender === sender.address)
    .filter((one) => one.state !== "signed");
  const called = (await selectPaidUnfound(tx, place, [sender.ramp])).slice();
  const parts: Part[] = [];
  for (const { to, contract, amount } of external) {
    const at = waiting.findIndex((one) => {
      const [payment] = (one.request as unknown as PaymentRequest & { kind: "pay" }).payments;
      return payment.to === to && one.contract === (contract ?? "") &&
        payment.amount === `${amount}`;
    });
    const order = at < 0 ? null : waiting.splice(at, 1)[0];
    if (order?.batch_order_id) await undoBatch(tx, actor, order.batch_order_id);
    else if (order?.state === "planned") await unplanOrder(tx, actor, order);
    const known = order !== null
      ? -1
      : called.findIndex((one) =>
        one.destination === to && (one.contract ?? null) === contract &&
        toUnits(one.amount, one.decimals) === amount
      );
    const withdrawal = known < 0 ? null : called.splice(known, 1)[0].id;
    parts.push({ to, contract, amount: `${amount}`, order: order?.id ?? null, withdrawal });
  }
  return parts;
}

async function keepFound(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  of: {
    found: FoundTransaction;
    id: string;
    order: Pick<
      FoundOrder,
      "purpose" | "ramp" | "reference_id" | "request" | "contract" | "amount"
    >;
  },
): Promise<void> {
  const { found, id, order } = of;
  const { chain, network } = place;
  const { hash, height, from, raw, inputs, fee } = found;
  const nonce = /:(\d+)$/.exec(inputs[0] ?? "")?.[1];
  await recordMined(tx, {
    ...{ id, chain, network, ...order, sender: from, hash, height, created_at: actor.at },
    nonce: inputs[0]?.startsWith("0x") && nonce !== undefined ? Number(nonce) : null,
  });
  const bytes = { raw, inputs: [...inputs], fee: fee === null ? null : `${fee}`, at: actor.at };
  await insertMinedBytes(tx, { order: id, hash, ...bytes });
  await insertReservedInputs(tx, { id, chain, network }, inputs, actor.at);
  await scheduleOrder(tx, actor, id);
}

/**
 * Handles the held deposits of the transaction: payments to own addresses are no deposits, unless it
 * left for a deposit address.
 */
async function settleHeld(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  { found, external }: { found: FoundTransaction; external: ReadonlySet<string> },
): Promise<void> {
  const held = await selectHeldDeposits(tx, place, { hashes: [found.hash] });
  await releaseDeposits(tx, held.map(({ id }) => id));
  const ours = held.filter((one) => !external.has(one.address)).map(({ id }) => id);
  if (ours.length === 0) return;
  const error = errorField("chain.quarantined", "it is a transaction of our own, found again");
  await markOrphaned(tx, ours, { error, at: actor.at });
}

/** Books the effects of a recovered transaction, in a transaction that holds the ledger lock. */
export async function settleRecovered(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  const parts = (order.request as unknown as { payments: Part[] }).payments;
  const carried = new Map((await selectBatched(tx, order.id)).map((one) => [one.id, one]));
  const paying = parts.filter((one) => one.order !== null);
  const whole = order.fee === null ? 0n : BigInt(order.fee);
  const shares = paying.length === 0 ? [] : divideFee(whole, paying.length);
  const { state, hash, height, confirmations } = order;
  for (const [at, part] of paying.entries()) {
    const member = carried.get(part.order!);
    if (member === undefined) continue;
    const fee = `${shares[at]}`;
    await settleWithdrawal(tx, actor, await endWithBatch(tx, member, order, fee));
  }
  if (paying.length === 0) await bookGas(tx, actor, order);
  if (state !== "done") return;
  for (const part of parts) {
    if (part.withdrawal !== null) {
      const entry: HistoryEntry = { at: actor.at, event: "found", hash, block: height };
      await updateWithdrawal(tx, part.withdrawal, { hash, height, confirmations }, entry, actor.at);
    } else if (part.order === null) await bookUnmatched(tx, actor, order, part);
  }
}

/** Books an unexplained payment: `fees` bears it until an operator assigns it. */
async function bookUnmatched(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  part: Part,
): Promise<void> {
  const chain = order.chain as ChainId;
  const { contract } = part;
  const kept = contract === null
    ? undefined
    : (await selectKeptTokens(tx, order)).find((one) => one.contract === contract);
  const registered = contract === null ? nativeAsset(chain) : tokenByContract(chain, contract);
  const code = kept?.symbol ?? registered?.code;
  const decimals = kept?.decimals ?? registered?.decimals;
  const ramp = await selectAccount(tx, order.ramp);
  if (code === undefined || decimals === undefined || ramp === null) return;
  // Coins at the address of a token's ramp are its gas, which the ledger does not keep.
  if (contract === null && findAsset(ramp.asset)?.contract !== null) return;
  const asset = { code, decimals, testnet: kept === undefined && order.network !== "main" };
  await postMove(tx, actor, {
    type: "withdrawal",
    source: await counterparty(tx, actor, "fees", asset),
    destination: await counterparty(tx, actor, "world", asset),
    amount: fromUnits(BigInt(part.amount), decimals),
    data: { order: order.id, destination: part.to, hash: order.hash },
  }, { force: true });
}
