/**
 * Recovers transactions that own keys signed and the database lost. A sweep is booked as a sweep,
 * and a payment ends its withdrawal. The account `fees` bears an unexplained payment until an
 * operator assigns it.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import { updateToken } from "../../db/currencies/tokens.ts";
import { lockOrders, selectOrder } from "../../db/sending/chain_orders.ts";
import { insertReservedInputs } from "../../db/sending/order_attempts.ts";
import { lockLateAttempt, markLateBooked } from "../../db/sending/late_attempts.ts";
import { claimFound } from "../../db/recovery/found_payments.ts";
import {
  insertMinedBytes,
  type OwnPlace,
  selectArrived,
  selectDeployment,
  selectKnownHashes,
  selectOwnPlaces,
} from "../../db/recovery/recoveries.ts";
import {
  insertBeside,
  joinSweep,
  lockOpenSweep,
  type SweepRow,
  updateSweep,
} from "../../db/deposits/sweeps.ts";
import type { Actor } from "../actor.ts";
import { newId } from "../ids.ts";
import {
  cancelOrder,
  type OrderRow,
  type PaymentRequest,
  scheduleOrder,
} from "../sending/chain_orders.ts";
import { progressBatch } from "../withdrawals/withdrawal_batches.ts";
import { type Displaced, displacedBy } from "./displaced_orders.ts";
import type { FoundPayment, FoundToken, FoundTransaction } from "./found_transactions.ts";
import { assertAlone, assertMayGiveUp, matchParts } from "./found_parts.ts";
import { settleReceipts } from "./own_receipts.ts";
import { assertStated, bookStated } from "./stated_bookings.ts";
import { DomainError } from "../errors.ts";
import { type FoundOrder, joinFound, recordMined } from "../sending/order_states.ts";

/** The result of recovering a transaction. */
export interface Taken {
  hash: string;
  purpose: "sweep" | "deploy" | "recovered";
  /** Withdrawals that it paid. */
  paid: string[];
  /** Payments that no withdrawal explains. */
  unmatched: { to: string; contract: string | null; amount: string }[];
  /** A contract that it calls as nothing here does: it may have moved what is not listed. */
  calls?: string;
  /** Its own order, which had given it up as expired. */
  late?: string;
  /** Orders that are done, and whose transactions the chain has lost to it: what they booked did not happen. */
  displaced?: Displaced[];
  /** Deposits that it was taken for and that were credited: they are booked twice, and their ramps are frozen. */
  credited?: string[];
  /** How an operator said that it is to be booked, where it cannot be read: the withdrawals that it paid, or `loss`. */
  stated?: string;
}

/**
 * Recovers an own transaction that the database does not know, or has given up; null if it knows it. One that
 * was given up and moved nothing out cost its fee: its order went on without it. A sweep is booked as the sweep that it was.
 *
 * @throws {DomainError} chain.quarantined where it deployed a token for which another transaction was sent, is not deep
 *   enough to take the place of signed bytes, or where another transaction of the order that gave it up is in flight
 */
export async function takeIn(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  found: FoundTransaction,
): Promise<Taken | null> {
  const isNew = found.late === undefined
    ? (await selectKnownHashes(tx, [found.hash])).length === 0
    : await lockLateAttempt(tx, found.hash);
  if (!isNew) return null;
  const places = await selectOwnPlaces(tx, place, [
    found.from,
    ...found.payments.map(({ to }) => to),
  ]);
  const own = new Map(places.map((one) => [one.address, one]));
  const sender = own.get(found.from);
  if (sender === undefined) throw new TypeError(`${found.from} is no address of ours`);
  if (found.late !== undefined) return await takeLate(tx, actor, place, { found, sender, own });
  const order = found.deployed === null
    ? null
    : await selectDeployment(tx, place, { sender: found.from, token: tokenOf(found.deployed) });
  if (order !== null) return await takeDeployment(tx, actor, place, { found, order });
  const payment = sweptBy(found, sender, own);
  return payment === null
    ? await takePayments(tx, actor, place, { found, sender, gone: goneOf(found), own })
    : await takeSweep(tx, actor, place, { found, sender, payment });
}

/** What a transaction carried from a deposit address to its ramp; null where it is no sweep. */
function sweptBy(
  found: FoundTransaction,
  sender: OwnPlace,
  own: ReadonlyMap<string, OwnPlace>,
): FoundPayment | null {
  const [first, ...others] = goneOf(found);
  const target = first === undefined ? undefined : own.get(first.to);
  const swept = found.calls === null && found.brought === null && found.stated === undefined &&
    others.length === 0 &&
    sender.derivation_key > 0 &&
    target?.ramp === sender.ramp &&
    target.derivation_key === 0;
  return swept ? first : null;
}

function goneOf({ payments, from }: FoundTransaction): FoundPayment[] {
  return payments.filter(({ to, amount }) => to !== from && amount > 0n);
}

/** Recovers a transaction that its order has given up, for the ramp of that order. */
async function takeLate(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  of: { found: FoundTransaction; sender: OwnPlace; own: ReadonlyMap<string, OwnPlace> },
): Promise<Taken> {
  const { id, ramp, purpose } = of.found.late!;
  await assertAlone(tx, of.found.late!);
  const { found, own } = of;
  const sender = { ...of.sender, ramp };
  const mined = { ...place, sender: found.from, nonce: nonceOf(found), hash: found.hash };
  const displaced = await displacedBy(tx, mined);
  // What carried the value before is booked.
  const isSweep = purpose === "sweep" && displaced.every((one) => one.purpose !== "sweep");
  const payment = isSweep ? sweptBy(found, sender, own) : null;
  const taken = payment === null
    ? await takePayments(tx, actor, place, { found, sender, gone: goneOf(found), own })
    : await takeSweep(tx, actor, place, { found, sender, payment });
  return { ...taken, late: id, ...(displaced.length === 0 ? {} : { displaced }) };
}

/** Tells whether a found deployment made the token that an order is to deploy. */
export function isTokenOf({ request }: Pick<OrderRow, "request">, found: FoundToken): boolean {
  const asked = request as unknown as PaymentRequest;
  if (asked.kind !== "deploy") return false;
  const made = tokenOf(found);
  return Object.entries(asked.token).every(([name, value]) =>
    made[name as keyof typeof made] === value
  );
}

function tokenOf({ name, symbol, decimals, supply }: FoundToken): Omit<FoundToken, "contract"> {
  return { name, symbol, decimals, supply };
}

/** Ends the order of a token with the deployment that was found, under the charge that users paid for it. */
async function takeDeployment(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  { found, order }: { found: FoundTransaction; order: OrderRow },
): Promise<Taken> {
  const { hash, deployed } = found;
  await assertMayGiveUp(tx, order.id, found);
  if (await cancelOrder(tx, actor, order.id) === null) {
    const why =
      `${hash} deployed what order ${order.id} is to deploy, whose transaction was sent: ` +
      "run it again once that one has expired";
    throw new DomainError("chain.quarantined", why);
  }
  const id = newId(actor.at);
  await keepFound(tx, actor, place, {
    found,
    id,
    order: {
      purpose: "deploy",
      ramp: order.ramp,
      reference_id: order.reference_id,
      request: { ...order.request },
      contract: order.contract,
      amount: "0",
      creates: deployed!.contract,
      charged: order.charged,
      budget: order.budget,
      budget_contract: order.budget_contract,
    },
  });
  await updateToken(tx, order.reference_id!, { order_id: id, hash, updated_at: actor.at });
  await settleReceipts(tx, actor, place, { found, external: new Set() });
  return { hash, purpose: "deploy", paid: [], unmatched: [] };
}

/**
 * Books a transaction as the account's sweep, in place of the one that has not left. Beside one that was sent: both may
 * be mined, and each carries what it carried.
 */
async function takeSweep(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  of: { found: FoundTransaction; sender: OwnPlace; payment: FoundPayment },
): Promise<Taken> {
  const { found, sender, payment } = of;
  const { chain, network } = place;
  const id = newId(actor.at);
  const sweep = await sweepFor(tx, actor, found, {
    id: newId(actor.at),
    chain,
    network,
    account: sender.account,
    ramp: sender.ramp,
    created_at: actor.at,
  });
  await joinSweep(tx, sender.account, sweep.id);
  // Should its block be lost, it is made anew as it was ordered.
  const own = found.late === undefined ? null : await selectOrder(tx, found.late.id);
  await keepFound(tx, actor, place, {
    found,
    id,
    order: {
      purpose: "sweep",
      ramp: sender.ramp,
      reference_id: sweep.id,
      request: own?.request ?? {
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
  const credited = await settleReceipts(tx, actor, place, { found, external: new Set() });
  const twice = credited.length === 0 ? {} : { credited };
  return { hash: found.hash, purpose: "sweep", paid: [], unmatched: [], ...twice };
}

async function sweepFor(
  tx: LedgerTx,
  actor: Actor,
  found: FoundTransaction,
  wanted: Parameters<typeof lockOpenSweep>[1],
): Promise<SweepRow> {
  const open = await lockOpenSweep(tx, wanted);
  if (open.order_id === null) return open;
  await assertMayGiveUp(tx, open.order_id, found);
  if (await cancelOrder(tx, actor, open.order_id) !== null) return open;
  return await insertBeside(tx, { ...wanted, id: newId(actor.at) });
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
  const deposits = await selectArrived(tx, place, found.hash);
  const arrived = new Set(deposits.map(({ address }) => address));
  const external = gone.filter(({ to }) =>
    !own.has(to) || arrived.has(to) && !found.signers.includes(to)
  );
  const parts = await matchParts(tx, actor, place, { found, sender, external });
  await assertStated(tx, found, parts);
  await keepFound(tx, actor, place, {
    found,
    id,
    order: {
      purpose: "recovered",
      ramp: sender.ramp,
      reference_id: null,
      request: {
        ...{ kind: "recovered", payments: parts },
        ...(found.stated === undefined ? {} : { stated: wordOf(found.stated) }),
      },
      contract: "",
      amount: "0",
    },
  });
  const claims = parts.flatMap(({ withdrawal }, payment) =>
    withdrawal === null ? [] : [{ withdrawal, payment }]
  );
  await claimFound(tx, id, claims);
  const paid = parts.flatMap(({ order }) => order ?? []);
  await joinFound(tx, await lockOrders(tx, paid), id);
  const { hash, height } = found;
  await progressBatch(tx, actor, { id, hash, height, confirmations: 0 } as OrderRow);
  const credited = await settleReceipts(tx, actor, place, {
    found,
    external: new Set(external.map(({ to }) => to)),
  });
  await bookStated(tx, actor, id, found);
  const unmatched = parts.filter((one) =>
    one.order === null && one.withdrawal === null && one.amount !== "0"
  );
  return {
    hash: found.hash,
    purpose: "recovered",
    paid,
    ...(credited.length === 0 ? {} : { credited }),
    ...(found.stated === undefined ? {} : { stated: wordOf(found.stated) }),
    ...(found.calls === null ? {} : { calls: found.calls }),
    unmatched: unmatched.map(({ to, contract, amount }) => ({ to, contract, amount })),
  };
}

/** A statement as it is kept and reported. */
function wordOf({ withdrawals }: NonNullable<FoundTransaction["stated"]>): string {
  return withdrawals.join() || "loss";
}

function nonceOf({ inputs: [first] }: FoundTransaction): number | null {
  const nonce = /^0x.*:(\d+)$/.exec(first ?? "")?.[1];
  return nonce === undefined ? null : Number(nonce);
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
      | "purpose"
      | "ramp"
      | "reference_id"
      | "request"
      | "contract"
      | "amount"
      | "creates"
      | "charged"
      | "budget"
      | "budget_contract"
    >;
  },
): Promise<void> {
  const { found, id, order } = of;
  const { chain, network } = place;
  const { hash, height, from, raw, inputs, fee, unreadable } = found;
  await recordMined(tx, {
    ...{ id, chain, network, ...order, sender: from, hash, height, created_at: actor.at },
    nonce: nonceOf(found),
  });
  const bytes = { raw, inputs: [...inputs], fee: fee === null ? null : `${fee}`, unreadable };
  if (found.late === undefined) {
    await insertMinedBytes(tx, { order: id, hash, ...bytes, at: actor.at });
  } else await markLateBooked(tx, { hash, order: id });
  await insertReservedInputs(tx, { id, chain, network }, inputs, actor.at);
  await scheduleOrder(tx, actor, id);
}
