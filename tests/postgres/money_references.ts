/**
 * How the foreign keys and the unique indexes of tables with money are tried to be broken, where that is not plain.
 *
 * @module
 */

const NEW = "gen_random_uuid()";
const DONE = "where status = 'DONE'";

/** Changes that each foreign key refuses: what follows `update <table> set`. */
export const REFERENCES: Readonly<
  Record<string, readonly [table: string, set: string]>
> = {
  addresses_ramp_fkey: ["addresses", `ramp = ${NEW}`],
  aliases_account_fkey: ["aliases", `account = ${NEW} where type = 'account'`],
  aliases_identity_fkey: ["aliases", `type = 'identity', account = null, identity = ${NEW}`],
  api_keys_owner_fkey: ["api_keys", `owner = ${NEW}`],
  blocks_account_fkey: ["blocks", `account = ${NEW}`],
  chain_orders_batch_order_id_fkey: [
    "chain_orders",
    `batch_order_id = ${NEW} where purpose = 'withdrawal' and state = 'done'`,
  ],
  chain_orders_gas_block_fkey: ["chain_orders", `gas_block = ${NEW}`],
  currencies_account_fkey: ["currencies", `account = ${NEW}`],
  currency_issues_currency_fkey: ["currency_issues", `currency = ${NEW}`],
  displaced_orders_order_id_fkey: ["displaced_orders", `order_id = ${NEW}`],
  external_ramps_identity_fkey: ["external_ramps", `identity = ${NEW}`],
  external_ramps_key_fkey: ["external_ramps", `key = ${NEW}`],
  order_attempts_late_order_id_fkey: [
    "order_attempts",
    `late = true, seen_height = 1, late_order_id = ${NEW}`,
  ],
  order_attempts_order_id_fkey: ["order_attempts", `order_id = ${NEW}`],
  passed_addresses_ramp_fkey: ["passed_addresses", `ramp = ${NEW}`],
  ramp_transfers_account_fkey: ["ramp_transfers", `account = ${NEW}`],
  ramp_transfers_deposit_fkey: ["ramp_transfers", `deposit = ${NEW} where kind = 'deposit'`],
  ramp_transfers_external_ramp_fkey: ["ramp_transfers", `external_ramp = ${NEW}`],
  ramp_transfers_withdrawal_fkey: ["ramp_transfers", `withdrawal = ${NEW} where kind = 'withdraw'`],
  reserved_addresses_ramp_fkey: ["reserved_addresses", `ramp = ${NEW}`],
  users_identity_fkey: ["users", `identity = ${NEW}`],
  withdrawals_found_order_id_fkey: [
    "withdrawals",
    `found_order_id = ${NEW}, found_payment = 0 ${DONE}`,
  ],
};

/** Foreign keys of rows that are made by hand, with the statement that is refused. */
export const MADE_REFERENCES: Readonly<Record<string, string>> = {
  exchange_keys_id_fkey: `insert into exchange_keys (id, public_key, created_at)
    select ${NEW}, public_key, created_at from exchange_keys limit 1`,
};

/** Changes by which a row comes to be one that a unique index holds. */
export const HELD: Readonly<Record<string, string>> = {
  accounts_default:
    "update accounts set is_default = true where id = (select account from currencies)",
  chain_orders_cpfp: "update chain_orders set purpose = 'cpfp' where purpose = 'sweep'",
  chain_orders_refund_transaction:
    `update chain_orders set refund_transaction = ${NEW} where purpose = 'sweep'`,
  fungible_tokens_contract: "update fungible_tokens set contract = '0x1'",
  order_attempts_late_order: `update order_attempts t set late = true, seen_height = 1,
    late_order_id = (select o.id from chain_orders o where o.id <> t.order_id limit 1)
    where (order_id, attempt) = (select order_id, attempt from order_attempts limit 1)`,
  ramp_transfers_deposit:
    "update ramp_transfers set deposit = (select id from deposits limit 1) where kind = 'deposit'",
  ramp_transfers_reference: "update ramp_transfers set reference = 'r'",
  ramp_transfers_withdrawal:
    "update ramp_transfers set withdrawal = (select id from withdrawals limit 1) where kind = 'withdraw'",
  sweeps_account: "update sweeps set state = 'waiting'",
  withdrawals_found:
    `update withdrawals set found_order_id = (select id from chain_orders limit 1), found_payment = 0
    ${DONE}`,
};

/** What differs in the second row besides its id, where a CHECK ties columns to each other. */
export const DIFFERING: Readonly<
  Record<string, Readonly<Record<string, string>>>
> = {
  aliases_alias_key: {},
  aliases_folded_key: { alias: "x.alias || 'é'" },
  users_folded_key: { username: "x.username || 'é'" },
  users_username_key: {},
};
