/**
 * A change of a row that each CHECK of a table with money refuses, by the name of the constraint: what follows
 * `update <table> set`. Triggers are off; of several broken checks PostgreSQL names the first in the order of names.
 *
 * @module
 */

import { CHAIN_CHECKS } from "./money_chain_checks.ts";
import { endless, type Tries } from "./money_tries.ts";

const OPEN = "where status = 'OPEN'";
const WITHDRAW = "where kind = 'withdraw'";
const DEPOSIT = "where kind = 'deposit'";

/** Tables in the order of their names; those of chains come last. */
export const CHECKS: Readonly<Record<string, Tries>> = {
  accounts: {
    accounts_covered: "blocked = total + 1 where type = 'virtual'",
    accounts_scale: [
      "total = total + 1e-30 where type = 'virtual'",
      ...endless("total", "where type = 'virtual'"),
      ...endless("total", "where type = 'system'"),
      "total = '-Infinity' where type = 'system'",
    ],
  },
  aliases: {
    aliases_alias_check: "alias = ''",
    aliases_alias_no_address: "folded = '0x' || repeat('a', 40)",
    aliases_alias_no_id: "folded = gen_random_uuid()::text",
    aliases_alias_plain: "alias = 'a  b'",
    aliases_check: "account = null where type = 'account'",
    aliases_check1: "identity = (select id from identities limit 1) where type = 'account'",
    aliases_data_check: "data = '[]'",
    aliases_folded_check: "folded = ''",
    aliases_folded_plain: "folded = 'another'",
    aliases_type_check: "type = 'person', account = null",
  },
  api_keys: {
    api_keys_data_check: "data = '[]'",
    api_keys_digest_check: "digest = 'short'",
    api_keys_name_check: "name = ''",
    api_keys_name_plain: "name = 'a  b'",
    api_keys_roles_check: ["roles = '{admin}'", "roles = '{user,operator}'"],
    api_keys_scopes_check: ["scopes = '{realm}'", "scopes = '{own,all}'"],
  },
  archived_parts: {
    archived_parts_accounts_check: "accounts = -1",
    archived_parts_check: "entries = 1",
    archived_parts_checkpoints_check: "checkpoints = 'x'",
    archived_parts_issues_check: "issues = 'x'",
    archived_parts_last_hash_check: "last_hash = 'x'",
    archived_parts_last_seq_check: "last_seq = -1",
    archived_parts_manifest_check: "manifest = 'x'",
    archived_parts_transactions_check: "transactions = -1, entries = -2",
  },
  asset_kinds: { asset_kinds_kind_check: "kind = 'both'" },
  attestations: {
    attestations_numbers_from_check: "numbers_from = -1",
    attestations_singleton_check: "singleton = false",
  },
  balance_checkpoints: {
    balance_checkpoints_linked_check: "linked = 0",
    balance_checkpoints_seq_check: "seq = 0",
  },
  blocks: {
    blocks_amount_check: `amount = 0 ${OPEN}`,
    blocks_capture: [
      `status = 'CAPTURED', closed_at = now() ${OPEN}`,
      `transaction = gen_random_uuid() ${OPEN}`,
      "captured = 0 where status = 'CAPTURED'",
      "transaction = null where status = 'CAPTURED'",
    ],
    blocks_captured: "captured = amount + 1 where status = 'CAPTURED'",
    blocks_closed: [`closed_at = now() ${OPEN}`, "closed_at = null where status = 'RELEASED'"],
    blocks_data_check: "data = '[]'",
    blocks_reason_check: "reason = ''",
    blocks_status_check: `status = 'LOST', closed_at = now() ${OPEN}`,
  },
  chain_head: {
    chain_head_check: ["transactions = seq + 1", "transactions = -1"],
    chain_head_hash_check: "hash = 'x'",
    chain_head_one_check: "one = false",
  },
  chain_links: {
    chain_links_hash_check: "hash = 'x'",
    chain_links_salt_check: "salt = 'x'",
    chain_links_seq_check: "seq = 0",
    chain_links_subject: [
      "transaction = null, event = null",
      "transaction = gen_random_uuid(), event = 1",
    ],
  },
  currencies: {
    currencies_check: ["supply = supply + 1e-30", ...endless("supply")],
    currencies_data_check: "data = '[]'",
    currencies_decimals_check: "decimals = 78",
    currencies_name_check: "name = 'x'",
    currencies_rate_check: ["rate = 0", ...endless("rate")],
    currencies_sub_unit_check: "sub_unit = '{cent}'",
    currencies_supply_check: "supply = -1",
  },
  currency_issues: {
    currency_issues_amount_check: "amount = 0",
    currency_issues_operation_check: "operation = 'print'",
  },
  entries: {
    entries_amount_check: "amount = 0",
    entries_blocked_check: "blocked = -1",
    entries_linked_check: "linked = 0",
    entries_seq_check: "seq = -seq",
  },
  exchange_keys: { exchange_keys_public_key_check: "public_key = 'x'" },
  external_ramps: {
    external_ramps_assets_check: "assets = '{}'",
    external_ramps_checked: "status = 'READY'",
    external_ramps_credentials_check: "credentials = 'x'",
    external_ramps_data_check: "data = '[]'",
    external_ramps_failures: "failures = -1",
    external_ramps_hint_check: "hint = '123456'",
    external_ramps_ramp_check: "ramp = 'A'",
    external_ramps_refused: "status = 'REFUSED', checked_at = now()",
    external_ramps_status_check: "status = 'LOST', checked_at = now()",
  },
  holder_losses: { holder_losses_lost_check: [...endless("lost"), "lost = '-Infinity'"] },
  hourly_flows: {
    hourly_flows_amount_check: "amount = 0",
    hourly_flows_count_check: "count = 0",
    hourly_flows_direction: "direction = 'up'",
    hourly_flows_finite: [...endless("amount"), ...endless("value")],
    hourly_flows_hour: "hour = hour + interval '1 second'",
    hourly_flows_value: "currency = '', value = 1",
    hourly_flows_value_check: "value = -1 where currency <> ''",
  },
  identities: {
    identities_country_check: "country = 'us'",
    identities_data_check: "data = '[]'",
    identities_type_check: "type = 'bank'",
  },
  kin_losses: { kin_losses_lost_check: [...endless("lost"), "lost = '-Infinity'"] },
  ledger_events: { ledger_events_facts_check: "facts = '[]'" },
  ramp_transfers: {
    ramp_transfers_address: `address = null ${DEPOSIT}`,
    ramp_transfers_address_check: "address = ''",
    ramp_transfers_asked: `state = 'asking' ${DEPOSIT}`,
    ramp_transfers_blocked: `block = null ${WITHDRAW}`,
    ramp_transfers_claimed_check: `claimed = '' ${DEPOSIT}`,
    ramp_transfers_claims: "claims = '{}'",
    ramp_transfers_currency_check: "currency = ''",
    ramp_transfers_data_check: "data = '[]'",
    ramp_transfers_deposit_kind: [
      `asked_at = now() ${WITHDRAW}`,
      `claimed = 'x' ${WITHDRAW}`,
      `deposit = (select id from deposits limit 1) ${WITHDRAW}`,
    ],
    ramp_transfers_done: `state = 'done', asked_at = now() ${DEPOSIT}`,
    ramp_transfers_exchange_amount_check: "exchange_amount = -1",
    ramp_transfers_exchange_fee_check: "exchange_fee = -1",
    ramp_transfers_exchange_network_check: "exchange_network = ''",
    ramp_transfers_expected_address_check: `expected_address = '' ${WITHDRAW}`,
    ramp_transfers_failed: ["state = 'failed'", "error = '{}'"],
    ramp_transfers_finite: [
      ...["value", "exchange_amount", "exchange_fee"].flatMap((name) => endless(name)),
      ...endless("offered_fee", DEPOSIT),
      ...endless("max_fee", WITHDRAW),
    ],
    ramp_transfers_hash_check: "hash = ''",
    ramp_transfers_kind_check: `kind = 'gift', block = gen_random_uuid() ${DEPOSIT}`,
    ramp_transfers_max_fee_check: `max_fee = -1 ${WITHDRAW}`,
    ramp_transfers_offered_fee_check: `offered_fee = -1 ${DEPOSIT}`,
    ramp_transfers_paid_by_check: `paid_by = 'nobody' ${WITHDRAW}`,
    ramp_transfers_reason_check: "reason = ''",
    ramp_transfers_reference_check: "reference = ''",
    ramp_transfers_speed_check: `speed = 'now' ${WITHDRAW}`,
    ramp_transfers_state_check: `state = 'lost', asked_at = now() ${DEPOSIT}`,
    ramp_transfers_tries_check: "tries = -1",
    ramp_transfers_unclear: `state = 'unclear', asked_at = now() ${DEPOSIT}`,
    ramp_transfers_value_check: "value = 0",
    ramp_transfers_withdraw_kind: [
      `paid_by = 'sender', speed = 'fast' ${DEPOSIT}`,
      `speed = null ${WITHDRAW}`,
      `offered_fee = 1 ${WITHDRAW}`,
      `block = gen_random_uuid() ${DEPOSIT}`,
      `max_fee = 1 ${DEPOSIT}`,
    ],
    ramp_transfers_withdrawn: `state = 'sent' ${WITHDRAW}`,
  },
  rates: { rates_rate_check: ["rate = 0", "rate = -1", ...endless("rate")] },
  secrets: { secrets_kind_check: "kind = ''" },
  solvency: {
    solvency_covered: [
      "solvent = true, assets = 1, liabilities = 2, fees = -1, pending = 0, sending = 0, drift = 0",
      "solvent = true, stopped = true, assets = 1, liabilities = 1, fees = 1, pending = 0, sending = 0, drift = -1",
    ],
    solvency_drift: "drift = drift + 1",
    solvency_finite: "assets = 'NaN', drift = 'NaN'",
    solvency_missing: "assets = assets - 1, drift = drift - 1, solvent = false, stopped = false",
    solvency_ramps_check: "ramps = '{}'",
  },
  solvency_samples: {
    solvency_samples_drift: "drift = drift + 1",
    solvency_samples_finite: "assets = 'NaN', drift = 'NaN'",
  },
  stops: {
    stops_asset_check: "asset = ''",
    stops_chain: ["chain = 'ETHEREUM'", "chain_assets = '{ETH}'"],
    stops_destination: ["destination = 'x'", "destinations = '{x}'"],
    stops_destination_check: "destination = '', destinations = '{x}'",
    stops_lifted: "lifted_by = gen_random_uuid(), lifted_at = null",
    stops_reason_check: "reason = ''",
    stops_restored: "restored = true",
    stops_what_check: "what = 'nothing'",
  },
  transaction_data: { transaction_data_data_check: "data = '[]'" },
  transactions: {
    transactions_amount_check: ["amount = 0", "amount = -amount"],
    transactions_check: "destination = source",
    transactions_check1: [
      "fiat_currency = 'USD', fiat_rate = null, fiat_value = null",
      "fiat_currency = null, fiat_rate = 1, fiat_value = null",
      "fiat_currency = null, fiat_rate = null, fiat_value = 1",
    ],
    transactions_type_check: "type = 'gift'",
  },
  users: {
    users_channel_check: "channel = '[]'",
    users_data_check: "data = '[]'",
    users_email_check: "email = 'A@example.com'",
    users_folded_check: "folded = ''",
    users_folded_plain: "folded = 'another'",
    users_roles_check: ["roles = '{admin}'", "roles = '{user,operator}'"],
    users_scopes_check: ["scopes = '{realm}'", "scopes = '{own,all}'"],
    users_username_check: "username = repeat('a', 201), folded = repeat('a', 201)",
    users_username_plain: "username = 'a  b', folded = 'a  b'",
    users_verifier_check: "verifier = 'plain'",
  },
  write_offs: {
    write_offs_amount_check: "amount = 0",
    write_offs_drift: ["amount = 1 - drift", "drift = 'NaN'", "drift = '-Infinity'"],
  },
  ...CHAIN_CHECKS,
};

/** Checks that no row can break without breaking another one first, which is the one that is named. */
export const IMPLIED: Readonly<
  Record<string, readonly [table: string, set: string, by: string]>
> = {
  chain_head_seq_check: ["chain_head", "seq = -1, transactions = 0", "chain_head_check"],
  withdrawals_charged_check: [
    "withdrawals",
    "charged = 0, amount = -fee",
    "withdrawals_amount_check",
  ],
  withdrawals_fee_check: ["withdrawals", "fee = -0.1, charged = amount - 0.1", "withdrawals_check"],
  withdrawals_max_fee_check: ["withdrawals", "max_fee = -1", "withdrawals_max_fee"],
  withdrawals_value_check: ["withdrawals", "value = 0", "withdrawals_value"],
};
