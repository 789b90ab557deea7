/** Triggers of tables with money that `money_triggers.ts` does not try. @module */

/** Triggers that other tests try, because their rows take more than a realm at rest: a file, and what it says there. */
export const ELSEWHERE: Readonly<
  Record<string, readonly [file: string, says: string]>
> = {
  accounts_linked_stays: ["accounts/linked_test.ts", "does not become available"],
  chain_orders_batch: ["withdrawals/batches_test.ts", "does not agree with what it carries"],
  chain_orders_gas_held: ["currencies/token_gas_test.ts", "is not blocked on the account"],
  chain_orders_served: ["recovery/restore_test.ts", "is the worker's to write"],
  coins_kept: ["recovery/displaced_coins_test.ts", '"coins_kept"'],
  coins_seen: ["postgres/rights_orders_test.ts", "a coin that a block has shown stays"],
  coins_unmade: ["postgres/rights_orders_test.ts", "may still be"],
  currencies_backed: ["currencies/supply_test.ts", '"currencies_backed"'],
  deposits_linked: ["accounts/linked_test.ts", "is not linked value"],
  deposits_linked_booked: ["accounts/linked_test.ts", "is not linked value"],
  deposits_taken_back: ["accounts/linked_handout_test.ts", "is not taken back"],
  fungible_tokens_backing: ["currencies/supply_test.ts", '"currencies_backed"'],
  fungible_tokens_differ: ["currencies/deployment_costs_test.ts", '"fungible_tokens_likeness"'],
  onchain_balances_served: ["postgres/rights_orders_test.ts", "insert into onchain_balances"],
  order_attempts_forgotten: ["sending/order_states_test.ts", '"order_attempts_forgotten"'],
  order_attempts_given_up: ["recovery/late_nonces_test.ts", '"order_attempts_given_up"'],
  ramp_transfers_begin: ["exchanges/attacks_test.ts", '"ramp_transfers_new"'],
  ramp_transfers_keep: ["exchanges/transfers_test.ts", '"ramp_transfers_kept"'],
  ramps_served: ["postgres/rights_orders_test.ts", "insert into ramps"],
  ramps_served_index: ["postgres/rights_orders_test.ts", "next_index = next_index + 1"],
  reserved_inputs_forgotten: [
    "recovery/contradicted_nonces_test.ts",
    '"reserved_inputs_forgotten"',
  ],
  reserved_inputs_kept: ["sending/lost_payments_test.ts", '"coins_kept"'],
  reserved_inputs_served: ["postgres/rights_orders_test.ts", "has not ended"],
  withdrawals_sponsored: ["withdrawals/tokens_test.ts", "pays for too many withdrawals of others"],
};

/** Triggers that refuse nothing: they write what follows from a row. */
export const FOLLOW: readonly string[] = [
  "accounts_frozen",
  "addresses_unused",
  "blocks_close",
  "blocks_open",
  "deposits_beneficiary",
  "deposits_used",
  "external_addresses_root",
  "holder_losses_kin",
  "ramps_doubt",
  "ramps_unused",
  "users_kin",
  "users_kin_moved",
  "users_root",
  "withdrawals_loss",
];
