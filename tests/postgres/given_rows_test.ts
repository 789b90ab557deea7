/** Rows that a statement is given as a list are looked up one by one, by plans made on empty tables too. */
import { equal, ok } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { selectWrongRows } from "../../db/audit/archived_rows.ts";
import { updateChained } from "../../db/audit/trail_chain.ts";
import { lowerOnchainBalances } from "../../db/accounts/onchain_balances.ts";
import { selectUnknownCoins } from "../../db/chains/coin_searches.ts";
import { markConsumed, upsertCoins } from "../../db/chains/scan_results.ts";
import { deferDeposits, deleteUnlike, putOffDeposits } from "../../db/deposits/deposit_proofs.ts";
import { markOrphaned } from "../../db/deposits/deposits.ts";
import { lockAllPending, markConfirmed } from "../../db/deposits/pending_deposits.ts";
import { deleteMatched } from "../../db/deposits/unmatched_deposits.ts";
import { markPublished } from "../../db/events.ts";
import { linkPersons } from "../../db/identity/identities.ts";
import { markLoginsUsed } from "../../db/identity/logins.ts";
import { insertPerson, updateExternalIds } from "../../db/people/persons.ts";
import {
  markDisplacedSeen,
  selectTaken,
  takeDisplacedDue,
} from "../../db/recovery/displaced_orders.ts";
import { claimFound } from "../../db/recovery/found_payments.ts";
import {
  freeUnshown,
  noteElsewhere,
  noteLost,
  noteUnshown,
} from "../../db/recovery/lost_blocks.ts";
import { nextScheduleVersions } from "../../db/sending/chain_orders.ts";
import { selectMinedLate } from "../../db/sending/late_attempts.ts";
import { selectOvertaker } from "../../db/sending/overtaken_plans.ts";
import {
  selectOwnSenders,
  selectStolenCoins,
  selectStolenNonces,
} from "../../db/sending/quarantine.ts";
import {
  markRunningWoken,
  markWaitingDue,
  selectSendersPaidBy,
} from "../../db/sending/waiting_orders.ts";
import * as utxos from "../../db/sending/utxos.ts";
import { updateWithdrawals } from "../../db/withdrawals/withdrawals.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
import { logPlans, type PlanNode, type RunPlan } from "../support/plans.ts";
import { testRealm } from "../support/realm.ts";

const AT = Date.UTC(2026, 0, 1);
const PLACE = { chain: "BITCOIN", network: "main" };
const ids = [1, 2, 3].map(() => crypto.randomUUID());
const hashes = ids.map((_, index) => `${index}`.repeat(64));
const inputs = hashes.map((hash, index) => `${hash}:${index}`);
const consumed = inputs.map((input) => ({ input, hash: hashes[0], height: 1 }));
const seen = hashes.map((hash, index) => ({
  ...{ hash, index, address: "a", asset: "BTC", contract: null, amount: "1" },
}));

const PERSON = {
  ...{ id: ids[0], external_id: null, first_name: "A", last_name: "B", middle_name: null },
  ...{ city: null, country: null, gender: null, profile_picture: null, tags: [] },
  ...{ custom_attributes: {}, contact: new Uint8Array(64), origin: "api", modified_from: "api" },
  created_at: AT,
};

function archived(id: string) {
  const move = { source: id, destination: id, asset: "ETH", testnet: false, amount: "1" };
  return { id, type: "fee", ...move, seal: null, reference: null, reverts: null, created_at: 1 };
}

/** The statements, and the column by which each table is read. */
const GIVEN: Record<
  string,
  [run: (tx: Tx, user: string) => Promise<unknown>, by: Record<string, string>]
> = {
  updateWithdrawals: [
    (tx) =>
      updateWithdrawals(
        tx,
        ids.map((id) => ({ id, change: { status: "DONE", error: null }, entry: null })),
        AT,
      ),
    { withdrawals: "id" },
  ],
  claimFound: [
    (tx) => claimFound(tx, ids[0], ids.map((withdrawal) => ({ withdrawal, payment: 0 }))),
    { withdrawals: "id" },
  ],
  markWaitingDue: [
    (tx) => markWaitingDue(tx, PLACE, { senders: hashes, most: 25, seconds: 15 }),
    { chain_orders: "sender", jobs: "(id|dedupe)" },
  ],
  markRunningWoken: [(tx) => markRunningWoken(tx, PLACE, { senders: hashes, most: 25 }), {
    chain_orders: "sender",
    jobs: "(id|dedupe)",
  }],
  selectSendersPaidBy: [
    (tx) => selectSendersPaidBy(tx, PLACE, { payers: hashes, most: 25 }),
    { addresses: "address", chain_orders: "ramp" },
  ],
  nextScheduleVersions: [(tx) => nextScheduleVersions(tx, ids), { chain_orders: "id" }],
  markConfirmed: [
    (tx) =>
      markConfirmed(
        tx,
        ids.map((id) => ({ id, credited: "1", transaction: id, app: null })),
        AT,
      ),
    { deposits: "id" },
  ],
  lockAllPending: [
    (tx) => lockAllPending(tx, ids.map((id) => ({ id, block_hash: null }))),
    { deposits: "id" },
  ],
  deferDeposits: [(tx) => deferDeposits(tx, ids.map((id) => ({ id, error: null }))), {
    deposits: "id",
  }],
  putOffDeposits: [(tx) => putOffDeposits(tx, ids.map((id) => ({ id, error: null }))), {
    deposits: "id",
  }],
  deleteUnlike: [(tx) => deleteUnlike(tx, PLACE, seen), { deposits: "hash" }],
  deleteMatched: [(tx) => deleteMatched(tx, PLACE, seen), { unmatched_deposits: "hash" }],
  markOrphaned: [(tx) => markOrphaned(tx, ids, { error: null, at: AT }), { deposits: "id" }],
  upsertCoins: [
    (tx) =>
      upsertCoins(
        tx,
        PLACE,
        hashes.map((hash, index) => ({
          ...{ hash, index, address: hash, amount: "1", height: 1, matures_at: null },
        })),
        AT,
      ),
    { addresses: "address" },
  ],
  selectOwnSenders: [(tx) => selectOwnSenders(tx, PLACE, hashes), { addresses: "address" }],
  markConsumed: [(tx) => markConsumed(tx, PLACE, consumed), {
    reserved_inputs: "input",
    coins: "hash",
  }],
  keepCoins: [(tx) => utxos.keepCoins(tx, { ...PLACE, hash: hashes[0] }, inputs), {
    coins: "hash",
  }],
  markSpent: [(tx) => utxos.markSpent(tx, { ...PLACE, hash: hashes[0], height: 1 }, inputs), {
    coins: "hash",
  }],
  markSpentBy: [
    (tx) =>
      utxos.markSpentBy(tx, PLACE, inputs.map((input) => ({ input, by: hashes[0], height: 1 }))),
    { coins: "hash" },
  ],
  deferSpenders: [(tx) => utxos.deferSpenders(tx, PLACE, inputs), { coins: "hash" }],
  reviveCoins: [(tx) => utxos.reviveCoins(tx, PLACE, inputs), { coins: "hash" }],
  selectAmounts: [(tx) => utxos.selectAmounts(tx, { ...PLACE, address: "a" }, inputs), {
    coins: "hash",
  }],
  selectBelieved: [(tx) => utxos.selectBelieved(tx, { ...PLACE, height: 1 }, inputs), {
    coins: "hash",
  }],
  selectOldest: [(tx) => utxos.selectOldest(tx, PLACE, inputs), { coins: "hash" }],
  deleteUnmadeCoins: [(tx) => utxos.deleteUnmadeCoins(tx, PLACE, hashes), {
    coins: "hash",
  }],
  selectUnknownCoins: [(tx) => selectUnknownCoins(tx, PLACE, inputs), { coins: "hash" }],
  selectStolenCoins: [(tx) => selectStolenCoins(tx, PLACE, consumed), {
    coins: "hash",
    order_attempts: "hash",
  }],
  selectOvertaker: [
    (tx) => selectOvertaker(tx, { id: ids[0], ...PLACE, sender: "a", nonce: 1 }),
    { reserved_inputs: "order_id", coins: "hash", chain_orders: "nonce" },
  ],
  selectStolenNonces: [(tx) => selectStolenNonces(tx, PLACE, consumed), {
    addresses: "address",
    order_attempts: "hash",
  }],
  selectMinedLate: [(tx) => selectMinedLate(tx, PLACE, consumed), {
    order_attempts: "hash",
    chain_orders: "id",
  }],
  markDisplacedSeen: [
    (tx) => markDisplacedSeen(tx, PLACE, hashes.map((hash) => ({ hash, height: 1 }))),
    { order_attempts: "hash" },
  ],
  selectTaken: [
    (tx) => selectTaken(tx, PLACE, { settled: 1, limit: 1, after: { hash: hashes[0], height: 1 } }),
    { coins: "kept" },
  ],
  noteUnshown: [
    (tx) => noteUnshown(tx, PLACE, { above: 1, to: 2, shown: hashes, at: AT }),
    {
      chain_orders: "(height|id|batch_order_id)",
      order_attempts: "hash",
      displaced_orders: "(seen_height|hash)",
    },
  ],
  noteElsewhere: [
    (tx) =>
      noteElsewhere(tx, PLACE, {
        ...{ above: 1, at: AT },
        shown: hashes.map((hash) => ({ hash, height: 2, block: "b" })),
      }),
    { chain_orders: "id", order_attempts: "hash" },
  ],
  freeUnshown: [
    (tx) => freeUnshown(tx, PLACE, { above: 1, to: 2, shown: hashes }),
    { chain_orders: "(height|id|batch_order_id)", order_attempts: "hash" },
  ],
  noteLost: [
    (tx) => noteLost(tx, PLACE, { height: 1, at: AT, deep: false }),
    { chain_orders: "(height|id|batch_order_id)", order_attempts: "hash" },
  ],
  takeDisplacedDue: [
    (tx) => takeDisplacedDue(tx, PLACE, { settled: 1, limit: 1, at: AT }),
    { displaced_orders: "(network|hash)" },
  ],
  lowerOnchainBalances: [
    (tx) =>
      lowerOnchainBalances(
        tx,
        PLACE,
        { height: 1, at: AT },
        ids.map((address) => ({ address, contract: "", amount: "1", nonce: null })),
      ),
    { onchain_balances: "address" },
  ],
  selectWrongRows: [(tx) => selectWrongRows(tx, ids.map(archived), 1), {
    deposits: "transaction",
    withdrawals: "transaction",
    blocks: "transaction",
    write_offs: "transaction",
    transaction_references: "transaction",
    transaction_reverts: "(transaction|reverts)",
  }],
  updateChained: [(tx) => updateChained(tx, { from: 1n, ids, hashes }), { audit: "id" }],
  markPublished: [(tx) => markPublished(tx, ["1", "2", "3"], ids), { events: "position" }],
  linkPersons: [
    (tx) => linkPersons(tx, ids.map((identity) => ({ identity, person: identity })), AT),
    { identities: "(id|person)" },
  ],
  markLoginsUsed: [(tx) => markLoginsUsed(tx, new Map(ids.map((id) => [id, AT]))), {
    logins: "id",
  }],
  updateExternalIds: [
    (tx) => updateExternalIds(tx, ids.map((id) => ({ person: id, identity: id })), AT),
    { persons: "id", identities: "id" },
  ],
  insertPerson: [
    (tx, owner) =>
      insertPerson(tx, { ...PERSON, owner }, [{
        channel: "email",
        digest: Uint8Array.fromHex(hashes[0]),
      }]),
    { person_contacts: "(digest|person)" },
  ],
};

/** Reads of a table in a plan that are not of the rows that were asked for; a line for each. */
function wideIn({ root }: RunPlan, table: string, by: string): string[] {
  const found: string[] = [];
  function visit(node: PlanNode, within: string): void {
    const name = node["Relation Name"] ?? within;
    const kind = node["Node Type"];
    const isRead = /Scan$/.test(kind) && kind !== "Bitmap Heap Scan" && kind !== "Tid Scan";
    const condition = node["Index Cond"] ?? "";
    if (isRead && name === table && !new RegExp(`\\b${by}\\b`).test(condition)) {
      found.push(`${kind} ${table} ${condition}`);
    }
    for (const child of node.Plans ?? []) visit(child, kind.startsWith("Bitmap") ? name : "");
  }
  visit(root, "");
  return found;
}

Deno.test("rows that are given as a list are looked up by their keys, by a plan made on empty tables too", async () => {
  await using own = await realmDatabase();
  await using plans = await logPlans(own);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { schema } = locationOf(realm.made.realm);
  const wide: string[] = [];
  for (const [name, [run, by]] of Object.entries(GIVEN)) {
    await plans.forget();
    await realm.command((tx) => run(tx, realm.admin.id));
    // Other tests use the same server, and its log.
    const runs = (await plans.read()).filter(({ root }) => JSON.stringify(root).includes(schema));
    for (const [table, column] of Object.entries(by)) {
      ok(runs.some(({ root }) => JSON.stringify(root).includes(`"${table}"`)), `${name} ${table}`);
      for (const one of runs) wide.push(...wideIn(one, table, column).map((l) => `${name}: ${l}`));
    }
  }
  equal(wide.length, 0, wide.join("\n"));
});
