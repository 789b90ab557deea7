import { deepEqual, equal } from "node:assert/strict";
import {
  CHECK_CODES,
  checkLedger,
  checkWithin,
  type MismatchCode,
} from "../../domain/audit/ledger_check.ts";
import { busyRealm } from "../support/busy_realm.ts";
import { FORGED_ARCHIVES, FORGED_WRITE_OFFS, tampering } from "../support/tamper.ts";

const GOLD = "(select account from currencies where name = 'GOLD')";
const WORLD = "(select id from accounts where asset = 'GOLD' and system = 'world')";
const OTHER = "(select account from account_states where frozen)";
/** The transaction of a number in the hash chain. */
const AT = (n: number) =>
  `(select transaction from chain_links where transaction is not null order by seq limit 1 offset ${n}-1)`;

/** A deposit that says it brought an amount into the account that transaction 2 credited. */
const DEPOSIT = (transaction: string, credited: string) => `
  insert into deposits (id, chain, network, hash, index, account, address, asset, amount, status,
    credited, transaction, created_at)
  select gen_random_uuid(), 'ETHEREUM', 'testnet', gen_random_uuid(), 0, destination, '0x', asset, ${credited},
    'CONFIRMED', ${credited}, ${transaction}, now() from transactions where id = ${AT(2)}`;
/** The address of that deposit as one of our own. */
const RAMP = `insert into ramps (account, chain, network, number, created_at)
  select id, 'ETHEREUM', 'testnet', 0, now() from accounts limit 1`;
const ADDRESS =
  `insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset,
    created_at)
  select gen_random_uuid(), account, account, chain, network, '0x', 0, 'ETH', now() from ramps`;
/** A withdrawal under way that says it took an amount along transaction 2. */
const WITHDRAWAL = (transaction: string, charged: string) => `
  insert into withdrawals (id, account, ramp, chain, network, sender, destination, asset, value, amount,
    fee, charged, paid_by, speed, order_id, block, transaction, created_at)
  select gen_random_uuid(), source, destination, 'ETHEREUM', 'testnet', '0x', '0x', asset, ${charged},
    ${charged}, 0, ${charged}, 'sender', 'slow', gen_random_uuid(),
    (select id from blocks where status = 'OPEN'), ${transaction}, now()
  from transactions where id = ${AT(2)}`;

/** An order as it ended, or not; a batch, or carried by one. */
const ORDER = (
  of: { purpose?: string; state?: string; amount?: string; batch_order_id?: string },
) => `
  insert into chain_orders (id, chain, network, ramp, purpose, sender, request, state, amount, fee, budget,
    batch_order_id, hash, height, created_at)
  values (gen_random_uuid(), 'BITCOIN', 'testnet', gen_random_uuid(),
    '${of.purpose ?? "batch"}', 'x', '{}', '${of.state ?? "done"}', ${of.amount ?? "5"}, 1, 3,
    ${of.batch_order_id ?? "null"}, 'h', 1, now())`;
const BATCH = "(select id from chain_orders where purpose = 'batch')";

/** A token of which less exists than circulates of its currency. */
const TOKEN = `insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals,
    currency, contract, status, external, owner, created_at)
  select gen_random_uuid(), account, 'ETHEREUM', 'main', name, supply - 1, 18, id, '0x1', 'registered',
    false, owner, created_at from currencies where name = 'GOLD'`;

/** Corruptions of each fact that is stored twice, with the mismatches that the audit must report. */
const CORRUPTIONS: readonly (readonly [MismatchCode, ...string[]])[] = [
  [
    "transaction.entries",
    `update entries set amount = amount + 1 where transaction = ${AT(2)}
    and amount > 0`,
  ],
  ["transaction.entries", `delete from entries where transaction = ${AT(2)} and amount < 0`],
  ["entry.transaction", `delete from transactions where id = ${AT(3)}`],
  ["entry.transaction", `update entries set transaction = ${AT(4)} where transaction = ${AT(3)}`],
  ["entry.seq", `update entries set seq = seq + 100 where account = ${GOLD} and seq > 2`],
  ["entry.balance", `update entries set balance = balance + 1 where account = ${GOLD} and seq = 2`],
  ["account.total", `update accounts set total = total + 1 where id = ${GOLD}`],
  ["account.seq", `update accounts set seq = seq + 1 where id = ${GOLD}`],
  ["account.blocked", `update accounts set blocked = blocked - 1 where id = ${GOLD}`],
  ["account.blocked", "update blocks set amount = 21 where status = 'OPEN'"],
  [
    "account.covered",
    "alter table accounts drop constraint accounts_covered",
    `update accounts set blocked = total + 1 where id = ${GOLD}`,
  ],
  ["account.linked", `update accounts set linked = 1 where id = ${GOLD}`],
  ["account.linked", DEPOSIT("gen_random_uuid()", "10.5")],
  ["entry.linked", `update entries set linked = 1 where account = ${GOLD} and seq = 2`],
  [
    "entry.linked",
    `update accounts set linked = 1 where id = ${GOLD}`,
    `update entries set linked = 1 where account = ${GOLD}`,
  ],
  ["deposit.address", DEPOSIT("gen_random_uuid()", "10.5"), RAMP, ADDRESS],
  ["account.state", `delete from account_states where account = ${GOLD}`],
  ["account.state", `update accounts set frozen = true where id = ${GOLD}`],
  [
    "account.history",
    `update account_states set blocked = 99 where account = ${GOLD} and id = (select min(id) from
    account_states where account = ${GOLD})`,
  ],
  [
    "account.history",
    "insert into account_states (account, at, blocked, frozen) select account, at, blocked, frozen " +
    "from account_states order by id desc limit 1",
  ],
  ["account.history", "delete from blocks where status = 'CAPTURED'"],
  [
    "account.history",
    `insert into blocks (id, account, amount, status, closed_at, created_at)
    select gen_random_uuid(), account, 7, 'RELEASED', created_at, created_at from blocks limit 1`,
  ],
  ["entry.blocked", `update entries set blocked = 3 where account = ${GOLD} and seq = 2`],
  ["entry.blocked", `update entries set blocked = null where account = ${GOLD} and seq = 2`],
  ["entry.blocked", `update entries set blocked = null where account = ${OTHER} and seq = 1`],
  ["entry.blocked", `update entries set blocked = 1 where account = ${WORLD} and seq = 1`],
  // An amount that was blocked later, and is free again, in a much older entry.
  ["entry.blocked", `update entries set blocked = 20 where account = ${GOLD} and seq = 1`],
  [
    "entry.blocked",
    `update entries set blocked = 20 where account = ${GOLD} and seq = (select max(seq) - 1 from
    entries where account = ${GOLD})`,
    `update entries set blocked = 5 where account = ${GOLD} and seq = (select max(seq) from
    entries where account = ${GOLD})`,
  ],
  ["asset.sum", `update accounts set total = total - 1 where id = ${WORLD}`],
  ["transaction.asset", `update transactions set asset = 'SILVER' where id = ${AT(2)}`],
  [
    "transaction.asset",
    "alter table accounts drop constraint accounts_scale",
    `update accounts set decimals = 0 where id = ${GOLD}`,
  ],
  [
    "entry.time",
    `update entries e set transaction = x.transaction from entries x where e.account = ${GOLD}
    and e.seq in (2, 3) and x.account = e.account and x.seq = 5 - e.seq`,
  ],
  [
    "transaction.time",
    `update transactions set created_at = created_at + interval '1 ms'
    where id = ${AT(2)}`,
  ],
  [
    "transaction.fiat",
    `update transactions set fiat_value = fiat_value + 0.01 where id = ${AT(2)}`,
  ],
  ["transaction.deposit_account", `update accounts set type = 'deposit' where id = ${OTHER}`],
  ["entry.blocked", `update accounts set type = 'deposit' where id = ${OTHER}`],
  ["transaction.revert", "update transactions set amount = 9 where type = 'revert'"],
  ["transaction.revert", "update transactions set reverts = null where type = 'revert'"],
  ["transaction.once", "update transaction_references set reference = 'another'"],
  ["transaction.once", "delete from transaction_references"],
  ["transaction.once", "update transaction_reverts set reverts = transaction"],
  ["transaction.once", "delete from transaction_reverts"],
  ["transaction.data", "insert into transaction_data values (gen_random_uuid(), '{}')"],
  ["transaction.data", "update transaction_data set transaction = gen_random_uuid()"],
  ["block.capture", "update blocks set captured = 3 where status = 'CAPTURED'"],
  ["block.capture", "delete from blocks where status = 'CAPTURED'"],
  ["currency.supply", "update currencies set supply = supply + 1 where name = 'GOLD'"],
  ...FORGED_WRITE_OFFS,
  ["token.supply", "alter table fungible_tokens disable trigger user", TOKEN],
  ["currency.issue", "update currency_issues set amount = amount + 1 where operation = 'destroy'"],
  ["currency.issue", "delete from currency_issues where operation = 'destroy'"],
  ["currency.issue", "update currency_issues set operation = 'issue' where operation = 'destroy'"],
  ["deposit.transaction", `update transactions set type = 'deposit' where id = ${AT(3)}`],
  ["deposit.transaction", DEPOSIT("gen_random_uuid()", "10.5")],
  [
    "deposit.transaction",
    `update transactions set type = 'deposit' where id = ${AT(2)}`,
    DEPOSIT(AT(2), "10.6"),
  ],
  [
    "deposit.transaction",
    "drop index deposits_transaction",
    `update transactions set type = 'deposit' where id = ${AT(2)}`,
    DEPOSIT(AT(2), "10.5"),
    DEPOSIT(AT(2), "10.5"),
  ],
  ["withdrawal.transaction", `update transactions set type = 'withdrawal' where id = ${AT(2)}`],
  [
    "withdrawal.transaction",
    `update transactions set type = 'withdrawal' where id = ${AT(2)}`,
    WITHDRAWAL(AT(2), "10.4"),
  ],
  ["withdrawal.block", WITHDRAWAL(AT(2), "10.5")],
  ["withdrawal.block", "update blocks set reference_id = gen_random_uuid() where status = 'OPEN'"],
  [
    "withdrawal.block",
    WITHDRAWAL(AT(2), "20"),
    "update blocks set reference_id = w.id, account = w.ramp, amount = 21 from withdrawals w " +
    "where blocks.id = w.block",
  ],
  ["withdrawal.order", WITHDRAWAL(AT(2), "10.5")],
  ["withdrawal.order", ORDER({ purpose: "withdrawal", state: "new" })],
  [
    "withdrawal.order",
    WITHDRAWAL(AT(2), "10.5"),
    ORDER({ purpose: "withdrawal", state: "sent" }),
    "update chain_orders set reference_id = w.id from withdrawals w",
    "update withdrawals set order_id = o.id, status = 'DONE', hash = 'h' from chain_orders o",
  ],
  [
    "order.gas",
    ORDER({ purpose: "sweep", state: "sent" }),
    "update chain_orders set gas_block = (select id from blocks where status = 'OPEN')",
  ],
  [
    "ramp_transfer.block",
    "alter table ramp_transfers drop constraint ramp_transfers_external_ramp_fkey",
    "update blocks set reference_id = gen_random_uuid() where status = 'OPEN'",
    `insert into ramp_transfers (id, external_ramp, exchange, kind, account, asset, value, currency,
        exchange_network, chain, network, paid_by, speed, block, owner, created_at)
      select reference_id, gen_random_uuid(), 'binance', 'withdraw', account, 'ETH', amount, 'ETH',
        'ETH', 'ETHEREUM', 'main', 'sender', 'fast', id, account, now() from blocks where status = 'OPEN'`,
    "update ramp_transfers set state = 'failed', error = '{}'",
  ],
  ["order.payout", ORDER({})],
  [
    "order.payout",
    ORDER({}),
    ORDER({ purpose: "withdrawal", amount: "4", batch_order_id: BATCH }),
  ],
  [
    "order.payout",
    ORDER({}),
    ORDER({ purpose: "withdrawal", state: "batched", batch_order_id: BATCH }),
  ],
  [
    "order.payout",
    ORDER({ state: "canceled" }),
    ORDER({ purpose: "withdrawal", state: "batched", batch_order_id: BATCH }),
  ],
  [
    "order.payout",
    ORDER({ purpose: "sweep" }),
    ORDER({ purpose: "withdrawal", batch_order_id: "(select id from chain_orders)" }),
  ],
  [
    "coin.input",
    ORDER({}),
    `insert into reserved_inputs (chain, network, input, order_id, created_at)
      select chain, network, repeat('a', 64) || ':0', id, now() from chain_orders`,
  ],
  [
    "coin.order",
    ORDER({ state: "done" }),
    `insert into order_attempts (order_id, attempt, plan, inputs, hash, raw, created_at)
      select id, 1, '{}', array[repeat('a', 64) || ':0'], hash, '00', now() from chain_orders`,
  ],
  [
    "coin.holding",
    `insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
      values ('LITECOIN', 'regtest', 9, 'h', 9, now(), now())`,
    `insert into coins (chain, network, hash, index, address, ramp, amount, height, created_at)
      values ('LITECOIN', 'regtest', repeat('a', 64), 0, 'x', gen_random_uuid(), 5, 3, now())`,
    `insert into onchain_balances (chain, network, address, amount, height, seen_at)
      values ('LITECOIN', 'regtest', 'x', 6, 9, now())`,
  ],
  ["seal.missing", "delete from ledger_commits"],
  [
    "seal.missing",
    "insert into ledger_commits (transactions) select array[transaction] from chain_links",
  ],
  ["seal.event", "delete from ledger_commits"],
  ["seal.event", "insert into ledger_commits (transactions, events) values ('{}', '{1}')"],
  ["seal.event", "insert into ledger_commits (transactions, events) values ('{}', '{99999}')"],
  ["seal.head", "delete from chain_head"],
  ["seal.head_mismatch", "delete from chain_head"],
  ["seal.head", "update chain_head set seq = seq - 1"],
  ["seal.head", "update chain_head set transactions = transactions - 1"],
  ["event.facts", `update accounts set owner = gen_random_uuid() where id = ${OTHER}`],
  ["event.facts", `update accounts set testnet = true where asset = 'GOLD'`],
  ["event.facts", "update currencies set rate = 7, base = 'BTC'"],
  ["event.facts", "delete from blocks where status = 'OPEN'"],
  ["seal.hash_mismatch", "update ledger_events set facts = '{}' where id = 3"],
  ["seal.event_missing", "delete from ledger_events where id = 3"],
  ["audit.head", "delete from audit where seq = (select max(seq) from audit)"],
  [
    "audit.head",
    "update ledger_events set facts = facts || '{\"lines\": \"1\"}' where kind = 'audit'",
  ],
  ["audit.seq_missing", "delete from audit where seq = 2"],
  ["audit.hash_mismatch", "update audit set actor = gen_random_uuid() where seq = 2"],
  [
    "account.decimals",
    "alter table accounts drop constraint accounts_scale",
    `update accounts set decimals = 30 where id = ${OTHER}`,
  ],
  [
    "alias.target",
    "alter table aliases drop constraint aliases_account_fkey",
    "update aliases set account = gen_random_uuid()",
  ],
  [
    "block.time",
    "update blocks set closed_at = created_at - interval '1 s' where status = 'CAPTURED'",
  ],
  ["block.time", "update blocks set status = 'EXPIRED', closed_at = now() where status = 'OPEN'"],
  [
    "account.moment",
    `update account_states set at = at - interval '9 days' where id = (select max(id) from account_states)`,
  ],
  ["account.moment", `update account_states set at = at + interval '1 s' where id = 1`],
  ["issue.time", "update currency_issues set created_at = created_at - interval '9 days'"],
  ["rate.time", "update rates set updated_at = updated_at + interval '9 days'"],
  ["idempotency.answer", "update idempotency set created_at = created_at - interval '9 days'"],
  [
    "idempotency.answer",
    "update idempotency set status = 409, body = '{}' where transaction is not null",
  ],
  ["idempotency.answer", "update batches set created_at = created_at - interval '9 days'"],
  [
    "seal.order",
    `update chain_links set transaction = gen_random_uuid() where transaction = ${AT(2)}`,
    `update chain_links set transaction = (select transaction from entries e where e.account = ${GOLD}
      and e.seq = 2) where transaction = ${AT(8)}`,
  ],
  ["seal.hash_mismatch", `update transactions set seal = '{"n":2}' where id = ${AT(2)}`],
  ["seal.hash_mismatch", "update chain_links set hash = sha256('x') where seq = 4"],
  ["seal.hash_mismatch", "update chain_links set salt = substr(sha256('x'), 1, 16) where seq = 4"],
  ["seal.seq_missing", "delete from chain_links where seq = 4"],
  ["seal.transaction_missing", `delete from transactions where id = ${AT(5)}`],
  ["seal.head_mismatch", "update chain_head set hash = sha256('x')"],
  [
    "idempotency.transaction",
    "update idempotency set transaction = gen_random_uuid() where transaction is not null",
  ],
  [
    "flow.sum",
    "update hourly_flows set amount = amount + 0.000000000000000001 where type = 'transfer'",
  ],
  ["flow.sum", "update hourly_flows set count = count + 1 where type = 'revert'"],
  ["flow.sum", "update hourly_flows set value = value + 0.01 where currency = 'USD'"],
  ["flow.sum", "update hourly_flows set hour = hour - interval '1 hour'"],
  ["flow.sum", "update hourly_flows set testnet = true where type = 'issue'"],
  ["flow.sum", "update hourly_flows set direction = 'in' where type = 'capture'"],
  ["flow.sum", "delete from hourly_flows where type = 'destroy'"],
  [
    "flow.sum",
    "insert into hourly_flows (testnet, hour, asset, type, direction, count, amount) " +
    "select testnet, hour, 'SILVER', type, direction, 1, 1 from hourly_flows limit 1",
  ],
  ...FORGED_ARCHIVES,
  ["tally.count", "delete from row_counts where collection = 'accounts'"],
  ["tally.count", "update row_counts set living = living + 1 where collection = 'transactions'"],
  ["idempotency.transaction", "update batches set transactions = array[gen_random_uuid()]"],
  [
    "idempotency.twice",
    "update idempotency set transaction = (select min(transaction::text)::uuid from idempotency) where transaction is not null",
  ],
  ["idempotency.generations", "insert into idempotency_earlier select * from idempotency"],
  ["idempotency.generations", "insert into batches_earlier select * from batches"],
  [
    "idempotency.transaction",
    `with gone as (delete from idempotency where transaction is not null returning *)
      insert into idempotency_earlier (key, fingerprint, transaction)
      select key, fingerprint, gen_random_uuid() from gone`,
  ],
  [
    "idempotency.answer",
    `with gone as (delete from batches returning *)
      insert into batches_earlier select key, request_id, transactions, refusals, unresolved,
        created_at - interval '9 days' from gone`,
  ],
];

Deno.test("the checker finds nothing in a sound ledger, while links are being added", async () => {
  await using realm = await busyRealm();
  const { links, head, mismatches } = await checkLedger(realm.pool);
  deepEqual([mismatches, links > 10], [[], true]);
  const shown = (await realm.admin.send("GET", "/v1/transactions/head")).body;
  equal(head, `${shown.seq}:${shown.hash}`);
});

Deno.test("the checker names every corruption", async () => {
  await using realm = await busyRealm();
  for (const [code, ...statements] of CORRUPTIONS) {
    const found = await tampering(realm, statements, checkWithin);
    const codes = found.mismatches.map((mismatch) => mismatch.code);
    equal(codes.includes(code), true, `${statements}: ${codes}`);
  }
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("no check is without a corruption that it finds", () => {
  const tried = new Set(CORRUPTIONS.map(([code]) => code));
  deepEqual(CHECK_CODES.filter((code) => !tried.has(code)), []);
});

Deno.test("a mismatch has the expected value, the found value, and the count", async () => {
  await using realm = await busyRealm();
  const { mismatches } = await tampering(
    realm,
    [`update accounts set total = total + 1.5 where id = ${GOLD}`],
    checkWithin,
  );
  const one = mismatches.find((mismatch) => mismatch.code === "account.total")!;
  const [{ expected }] = await tampering(
    realm,
    [],
    (tx) =>
      tx<{ expected: string }[]>`
        select sum(amount)::text as expected from entries
        where account = (select account from currencies where name = 'GOLD')`,
  );
  equal(one.found, `${Number(expected) + 1.5}.000`.slice(0, one.found!.length));
  deepEqual([one.expected, one.count], [expected, 1]);
});
