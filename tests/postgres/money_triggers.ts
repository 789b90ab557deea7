/**
 * Statements that each trigger of a table with money refuses, with what they are refused with: the name of a constraint,
 * or the beginning of the message of those that have none. What comes before the last statement of one prepares it.
 *
 * @module
 */
import { BY_HAND } from "./money_scene.ts";

/** Statements, the last of which is refused, and what it is refused with. */
export type Breach = readonly [refused: string, ...statements: string[]];

/** A copy of a row with other values. */
function copy(
  table: string,
  change: Record<string, string>,
  where = "true",
): string {
  const values = Object.entries(change).map(([name, value]) => `'${name}', ${value}`).join(", ");
  return `insert into ${table} overriding system value
    select (jsonb_populate_record(x, jsonb_build_object(${values}))).* from ${table} x where ${where} limit 1`;
}

/** The statement that makes a table's row by hand. */
function made(table: string): string {
  return BY_HAND.find((text) => text.startsWith(`insert into ${table} `))!;
}

function appendOnly(table: string): Breach[] {
  const refused = `${table} is append-only`;
  return [[refused, `delete from ${table}`], [refused, `truncate ${table} cascade`]];
}

function unchanged(table: string): Breach {
  return [`${table} is append-only`, `update ${table} set created_at = created_at`];
}

function keptFacts(table: string): string {
  return `facts of ${table} do not change`;
}

const NEW = "gen_random_uuid()";
const SOLANA = "'01a00000-0000-7000-8000-000000000001'::uuid";
const NOBODY = "(select id from users where not 'admin' = any (roles) limit 1)";
const LINKED = "(select address from external_addresses limit 1)";
const OWN = "(select address from addresses limit 1)";
const UNPAID = "where status = 'PROCESSING'";
const NOTHING_CARRIED = { amount: "null", arrived: "null", fee: "null" };

/** By trigger. */
export const BREACHES: Readonly<Record<string, readonly Breach[]>> = {
  account_states_append_only: [
    ...appendOnly("account_states"),
    ["account_states is append-only", "update account_states set blocked = 0"],
  ],
  accounts_asset: [["currencies_asset", "update accounts set asset = 'GOLD' where type = 'ramp'"]],
  accounts_belong: ["owner", "holder"].map((name) => [
    "accounts_belong",
    copy(
      "accounts",
      { id: NEW, [name]: NEW, total: "0", blocked: "0", seq: "0", is_default: "false" },
      "type = 'virtual'",
    ),
  ]),
  accounts_deletable: [[
    "accounts_deletable",
    "update accounts set deleted_at = now() where type = 'virtual' and total > 0",
  ]],
  accounts_facts: ["owner", "holder"].map((name) => [
    keptFacts("accounts"),
    `update accounts set ${name} = ${NEW} where type = 'virtual'`,
  ]),
  accounts_rules: [
    [
      "accounts_blocked",
      "update accounts set blocked = 1e-30 where type = 'virtual' and total > 1",
    ],
    ["accounts_blocked", "update accounts set blocked = 'NaN' where type = 'system'"],
    ["accounts_unblocked", "update accounts set blocked = 1 where type = 'system'"],
  ],
  accounts_seq: [["accounts_seq", "update accounts set seq = seq - 1 where seq > 0"]],
  addresses_facts: [[keptFacts("addresses"), `update addresses set account = ${NEW}`]],
  addresses_fit: [[
    "addresses_fit",
    copy("addresses", { id: NEW, account: NEW, derivation_key: "99", address: "'x'" }),
  ]],
  addresses_linked: [[
    "addresses_linked",
    copy("addresses", { id: NEW, derivation_key: "99", address: LINKED }, "derivation_key > 0"),
  ]],
  addresses_stay: [[keptFacts("addresses"), "delete from addresses"]],
  // deno-lint-ignore house/words -- a name of the database
  addresses_stock: [[
    "addresses_stock",
    copy("accounts", {
      id: SOLANA,
      asset: "'SOL'",
      decimals: "9",
      total: "0",
      blocked: "0",
      seq: "0",
    }, "type = 'ramp'"),
    `insert into ramps (account, chain, network, number, created_at) values (${SOLANA}, 'SOLANA', 'main', 0, now())`,
    `insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset, created_at)
      values (${NEW}, ${SOLANA}, ${SOLANA}, 'SOLANA', 'main', 'x', 0, 'SOL', now())`,
  ]],
  api_keys_ended: [[
    "api_keys_ended",
    "update api_keys set deleted_at = now()",
    "update api_keys set deleted_at = null",
  ]],
  api_keys_within_user: [[
    "api_keys_within_user",
    copy("api_keys", {
      id: NEW,
      digest: "sha256('x')",
      owner: NOBODY,
      roles: "'{admin,user}'::text[]",
    }),
  ]],
  archived_parts_append_only: appendOnly("archived_parts"),
  balance_checkpoints_append_only: appendOnly("balance_checkpoints"),
  blocks_keep: [[
    "a block begins open",
    copy("blocks", { id: NEW, status: "'RELEASED'", closed_at: "now()" }, "status = 'OPEN'"),
  ]],
  blocks_keep_closed: ["amount = amount + 1", "account = (select account from ramps limit 1)"]
    .map((set) => [
      "a block is closed once",
      `update blocks set ${set} where status = 'OPEN' and reference_id is null`,
    ]),
  blocks_paid: [NEW, "(select id from transactions where type = 'destroy' limit 1)"].map((id) => [
    "blocks_paid",
    `update blocks set status = 'CAPTURED', captured = 1, transaction = ${id}
      where status = 'OPEN' and reference_id is null`,
  ]),
  blocks_serving: [[
    "blocks_serving",
    "update blocks set status = 'RELEASED' where status = 'OPEN' and reference_id is not null",
  ]],
  blocks_stay: appendOnly("blocks"),
  chain_links_append_only: appendOnly("chain_links"),
  chain_orders_change: [
    ["chain_orders_transition", "update chain_orders set state = 'new' where state = 'done'"],
    ["chain_orders_transition", copy("chain_orders", { id: NEW }, "state = 'done'")],
    ["chain_orders_fixed", "update chain_orders set amount = amount + 1 where state = 'done'"],
    ["chain_orders_fixed", "update chain_orders set sender = 'x'"],
    ["chain_orders_fixed", "update chain_orders set budget_contract = 'x'"],
    ["chain_orders_fixed", "update chain_orders set budget = budget * 2 where budget is not null"],
  ],
  chain_orders_reason: [[
    "chain_orders_reason",
    copy("chain_orders", { id: NEW }, "state = 'new' and purpose = 'withdrawal'"),
  ]],
  chain_orders_refund: [[
    "chain_orders_refund",
    `update chain_orders set refund_transaction = ${NEW} where purpose = 'sweep'`,
  ]],
  chain_orders_stay: appendOnly("chain_orders"),
  coins_facts: ["amount = amount + 1", "address = 'y'"].map((set) => [
    keptFacts("coins"),
    made("coins"),
    `update coins set ${set}`,
  ]),
  consolidations_begin: [[
    "consolidations_kept",
    made("consolidations").replace("order_id, ", "order_id, status, ").replace(
      "gen_random_uuid(), now()",
      "gen_random_uuid(), 'FAILED', now()",
    ),
  ]],
  consolidations_kept: [
    `account = ${NEW}`,
    `order_id = ${NEW}`,
    "status = 'FAILED'",
    "amount = amount + 1",
  ].map((set, at) => [
    "consolidations_kept",
    made("consolidations"),
    ...at < 2 ? [] : ["update consolidations set status = 'DONE', fee = 0, size = 1, hash = 'h'"],
    `update consolidations set ${set}`,
  ]),
  consolidations_stay: appendOnly("consolidations"),
  currencies_asset: [["currencies_asset", copy("currencies", { id: NEW, name: "'ETH'" })]],
  currencies_deletable: [["currencies_deletable", "update currencies set deleted_at = now()"]],
  currencies_differ: [[
    "currencies_likeness",
    copy("currencies", { id: NEW, name: "'G0LD'", owner: NOBODY }),
  ]],
  currencies_facts: [[keptFacts("currencies"), "update currencies set decimals = decimals - 1"]],
  currency_issues_append_only: [...appendOnly("currency_issues"), unchanged("currency_issues")],
  deposit_apps_facts: ["destination", "account", "owner"].map((name) => [
    keptFacts("deposit_apps"),
    `update deposit_apps set ${name} = ${NEW}`,
  ]),
  deposits_backed: [
    ...["type = 'destroy'", "type = 'deposit'"].map((which): Breach => [
      "deposits_backed",
      "drop index deposits_transaction",
      `update deposits set status = 'CONFIRMED', credited = amount,
        transaction = (select id from transactions where ${which} limit 1) where status = 'PENDING'`,
    ]),
    // Of another payment to the same account, and as much.
    [
      "deposits_backed",
      "drop index deposits_transaction",
      copy(
        "deposits",
        { id: NEW, hash: "'x'", status: "'PENDING'", credited: "null", transaction: "null" },
        "status = 'CONFIRMED'",
      ),
      `update deposits d set status = 'CONFIRMED', credited = o.credited, transaction = o.transaction
        from deposits o where d.hash = 'x' and (o.account, o.amount, o.status) = (d.account, d.amount, 'CONFIRMED')`,
    ],
  ],
  deposits_begin: [[
    "deposits_booked",
    copy("deposits", { id: NEW, hash: "'x'", transaction: NEW }, "status = 'CONFIRMED'"),
  ]],
  deposits_booked: [
    ["deposits_booked", "update deposits set credited = credited / 2 where status = 'CONFIRMED'"],
    ["deposits_booked", "update deposits set amount = amount + 1 where status = 'PENDING'"],
    ["deposits_booked", "update deposits set address = 'x' where status = 'PENDING'"],
  ],
  deposits_stay: [["deposits_booked", "delete from deposits where status = 'CONFIRMED'"]],
  displaced_orders_change: [[
    "displaced_orders_done",
    made("displaced_orders").replace("select hash", "select 'unknown'"),
  ]],
  displaced_orders_stay: appendOnly("displaced_orders"),
  entries_append_only: [
    ...appendOnly("entries"),
    ["entries is append-only", "update entries set amount = amount"],
    ["entries_newest is append-only", "update entries_newest set amount = amount"],
  ],
  external_addresses_facts: ["address = 'x'", "since = since - 1"].map((set) => [
    keptFacts("external_addresses"),
    `update external_addresses set ${set}`,
  ]),
  external_addresses_own: [
    ["external_addresses_own", copy("external_addresses", { id: NEW, address: OWN })],
    [
      "external_addresses_watching",
      copy("external_addresses", {
        id: NEW,
        address: "'x'",
        account: "(select account from ramps limit 1)",
      }),
    ],
  ],
  fungible_tokens_begin: [[
    "fungible_tokens_begin",
    made("fungible_tokens").replace("supply, ", "status, supply, ").replace(" 5,", " 'failed', 5,"),
  ]],
  fungible_tokens_kept: [
    ["contract = '0x1'", "contract = '0x2'"],
    ["currency = (select id from currencies limit 1)", `currency = ${NEW}`],
    "supply = supply + 1",
    "decimals = decimals - 1",
    `account = ${NEW}`,
    "status = 'registered', contract = '0x1', currency = (select id from currencies limit 1)",
  ].map((sets) => [
    "fungible_tokens_kept",
    made("fungible_tokens"),
    ...[sets].flat().map((set) => `update fungible_tokens set ${set}`),
  ]),
  ledger_events_append_only: appendOnly("ledger_events"),
  nonces_step: [["nonces_step", "update nonces set next = next + 2"]],
  order_attempts_change: [
    ["order_attempts_change", "update order_attempts set raw = raw || '00' where raw is not null"],
    ["order_attempts_change", "update order_attempts set plan = '{}'"],
    ["order_attempts_change", copy("order_attempts", { attempt: "9" }, "raw is not null")],
  ],
  order_attempts_quarantined: [[
    "ramps_quarantined",
    `insert into order_attempts (order_id, attempt, plan, inputs, created_at)
      select id, 1, '{"nonce": 9}', '{x:9}', now() from chain_orders where state = 'new'`,
    "update chain_orders set state = 'planned' where state = 'new'",
    `update ramps set quarantined = '{"detail": "a restore", "at": 1}'`,
    "update order_attempts set raw = '00', hash = '00' where raw is null",
  ]],
  order_attempts_stay: appendOnly("order_attempts"),
  ramp_transfers_stay: appendOnly("ramp_transfers"),
  ramps_facts: [
    "number = number + 1",
    "chain = 'POLYGON'",
    "xpub = 'x'",
    `account = ${NEW}`,
  ].map((set) => [keptFacts("ramps"), `update ramps set ${set}`]),
  ramps_index: [["an address index is handed out once", "update ramps set next_index = 0"]],
  reserved_addresses_linked: [[
    "addresses_linked",
    `update reserved_addresses set address = ${LINKED}`,
  ]],
  secrets_seed_kept: [[
    "the seed of a realm with addresses stays",
    "delete from secrets where kind = 'seed'",
  ]],
  secrets_seed_made: [[
    "a realm with addresses gets no other seed",
    copy("secrets", { id: NEW }, "kind = 'seed'"),
  ]],
  stops_keep: [["a stop is lifted once", "update stops set reason = 'other'"]],
  stops_stay: appendOnly("stops"),
  sweeps_kept: [
    [
      "sweeps_kept",
      copy("sweeps", { id: NEW, order_id: "null", gas_order: "null" }, "state = 'done'"),
    ],
    ["sweeps_kept", `update sweeps set account = ${NEW}`],
    ["sweeps_kept", "update sweeps set gas_order = order_id where order_id is not null"],
    ["sweeps_kept", "update sweeps set state = 'new' where state = 'done'"],
    ["sweeps_kept", "update sweeps set arrived = arrived + 1 where state = 'done'"],
    ["sweeps_kept", copy("sweeps", { id: NEW, state: "'waiting'" }, "state = 'done'")],
    // One that would book what another has booked.
    [
      "sweeps_kept",
      copy("sweeps", { id: NEW, state: "'sweeping'", ...NOTHING_CARRIED }, "state = 'done'"),
    ],
  ],
  sweeps_owed: [["sweeps_owed", "update sweeps set ahead = 1 where state = 'done'"]],
  transaction_references_append_only: [
    ...appendOnly("transaction_references"),
    ["transaction_references is append-only", "update transaction_references set reference = 'x'"],
  ],
  transaction_reverts_append_only: [
    ...appendOnly("transaction_reverts"),
    ["transaction_reverts is append-only", `update transaction_reverts set reverts = ${NEW}`],
  ],
  transactions_append_only: [
    ...appendOnly("transactions"),
    unchanged("transactions"),
    unchanged("transactions_newest"),
  ],
  transactions_deposit: [[
    "transactions_deposit",
    copy("transactions", { id: NEW }, "type = 'deposit'"),
  ]],
  transactions_refund: [[
    "transactions_refund",
    copy(
      "transactions",
      { id: NEW, type: "'return'" },
      "source in (select id from accounts where system = 'world')",
    ),
  ]],
  withdrawals_begin: [
    ["withdrawals_ended", copy("withdrawals", { id: NEW, order_id: NEW }, "status = 'DONE'")],
    [
      "withdrawals_ended",
      copy(
        "withdrawals",
        { id: NEW, order_id: NEW, surcharge: "fee", value: "amount" },
        "status = 'PROCESSING' and paid_by = 'sender'",
      ),
    ],
  ],
  withdrawals_covered: [["withdrawals_covered", `update withdrawals set block = ${NEW} ${UNPAID}`]],
  withdrawals_ended: [
    "destination = 'x'",
    "amount = amount / 2, value = value / 2, charged = charged - amount / 2",
    "status = 'DONE'",
    `transaction = ${NEW}`,
  ].map((set) => ["withdrawals_ended", `update withdrawals set ${set} ${UNPAID}`]),
  withdrawals_stay: appendOnly("withdrawals"),
  write_offs_append_only: appendOnly("write_offs"),
  write_offs_missing: [["write_offs_missing", made("write_offs")]],
};
