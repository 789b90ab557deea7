/**
 * What the runtime needs of the OpenAPI document. Written by `deno task openapi`: do not edit.
 *
 * @module
 */

/** Where the answers of routes have amounts as JSON numbers, whose digits are kept as text: `*` is every item of a list. */
export const AMOUNTS: Readonly<Record<string, readonly string[]>> = {
  "get /v1/accounts/{id}/orders": [
    "*.attempts.*.fee.value"
  ],
  "get /v1/currencies": [
    "rows.*.rate"
  ],
  "post /v1/currencies": [
    "rate"
  ],
  "get /v1/currencies/all": [
    "*.rate"
  ],
  "get /v1/currencies/{id}": [
    "rate"
  ],
  "patch /v1/currencies/{id}": [
    "rate"
  ],
  "delete /v1/currencies/{id}": [
    "rate"
  ],
  "post /v1/currencies/{id}/undelete": [
    "rate"
  ],
  "post /v1/currencies/{id}/issue": [
    "rate"
  ],
  "post /v1/currencies/{id}/destroy": [
    "rate"
  ],
  "get /v1/withdrawals": [
    "rows.*.amount",
    "rows.*.fee.gas.value",
    "rows.*.fee.value",
    "rows.*.order.attempts.*.fee.value",
    "rows.*.speed_up.fee.after",
    "rows.*.speed_up.fee.before",
    "rows.*.speed_up.price.after",
    "rows.*.speed_up.price.before",
    "rows.*.value"
  ],
  "post /v1/withdrawals": [
    "amount",
    "fee.gas.value",
    "fee.value",
    "order.attempts.*.fee.value",
    "speed_up.fee.after",
    "speed_up.fee.before",
    "speed_up.price.after",
    "speed_up.price.before",
    "value"
  ],
  "get /v1/withdrawals/all": [
    "*.amount",
    "*.fee.gas.value",
    "*.fee.value",
    "*.order.attempts.*.fee.value",
    "*.speed_up.fee.after",
    "*.speed_up.fee.before",
    "*.speed_up.price.after",
    "*.speed_up.price.before",
    "*.value"
  ],
  "get /v1/withdrawals/{id}": [
    "amount",
    "fee.gas.value",
    "fee.value",
    "order.attempts.*.fee.value",
    "speed_up.fee.after",
    "speed_up.fee.before",
    "speed_up.price.after",
    "speed_up.price.before",
    "value"
  ],
  "patch /v1/withdrawals/{id}": [
    "amount",
    "fee.gas.value",
    "fee.value",
    "order.attempts.*.fee.value",
    "speed_up.fee.after",
    "speed_up.fee.before",
    "speed_up.price.after",
    "speed_up.price.before",
    "value"
  ],
  "post /v1/withdrawals/{id}/speed-up": [
    "amount",
    "fee.gas.value",
    "fee.value",
    "order.attempts.*.fee.value",
    "speed_up.fee.after",
    "speed_up.fee.before",
    "speed_up.price.after",
    "speed_up.price.before",
    "value"
  ],
  "post /v1/withdrawals/{id}/cancel": [
    "amount",
    "fee.gas.value",
    "fee.value",
    "order.attempts.*.fee.value",
    "speed_up.fee.after",
    "speed_up.fee.before",
    "speed_up.price.after",
    "speed_up.price.before",
    "value"
  ],
  "get /v1/events/all": [
    "*.data.amount",
    "*.data.fee.gas.value",
    "*.data.fee.value",
    "*.data.order.attempts.*.fee.value",
    "*.data.speed_up.fee.after",
    "*.data.speed_up.fee.before",
    "*.data.speed_up.price.after",
    "*.data.speed_up.price.before",
    "*.data.value"
  ]
};

/** Where the data of events have such amounts. */
export const EVENT_AMOUNTS: readonly string[] = [
  "amount",
  "fee.gas.value",
  "fee.value",
  "order.attempts.*.fee.value",
  "speed_up.fee.after",
  "speed_up.fee.before",
  "speed_up.price.after",
  "speed_up.price.before",
  "value"
];

/** Writes that take no idempotency key, and are therefore sent once. */
export const UNREPEATABLE: readonly string[] = [
  "post /v1/auth/admins/login",
  "post /v1/auth/users/login",
  "post /v1/auth/login"
];

/** Every code of a problem. */
export const PROBLEM_CODES = [
  "request.malformed",
  "request.invalid",
  "query.invalid",
  "auth.missing",
  "auth.invalid",
  "auth.expired",
  "auth.revoked",
  "auth.credentials",
  "credits.exhausted",
  "permission.role",
  "permission.scope",
  "permission.owner",
  "realm.not_found",
  "key.not_found",
  "user.not_found",
  "identity.not_found",
  "account.not_found",
  "address.not_found",
  "alias.not_found",
  "currency.not_found",
  "token.not_found",
  "withdrawal.not_found",
  "consolidation.not_found",
  "deposit.not_found",
  "transaction.not_found",
  "block.not_found",
  "ramp.not_found",
  "transfer.not_found",
  "message.not_found",
  "webhook.not_found",
  "delivery.not_found",
  "person.not_found",
  "company.not_found",
  "rate.not_found",
  "login.not_found",
  "job.not_found",
  "stop.not_found",
  "problem.not_found",
  "route.not_found",
  "method.not_allowed",
  "request.not_acceptable",
  "request.too_large",
  "request.media_type",
  "balance.insufficient",
  "account.frozen",
  "account.inactive",
  "account.not_enabled",
  "account.not_empty",
  "account.no_ramp",
  "account.asset_mismatch",
  "ramp.assets_insufficient",
  "ramp.gas_insufficient",
  "alias.taken",
  "username.taken",
  "person.taken",
  "company.taken",
  "sync.running",
  "currency.taken",
  "address.assigned",
  "rate.unavailable",
  "withdrawal.not_cancelable",
  "withdrawal.below_fee",
  "withdrawal.fee_exceeded",
  "user.last_admin",
  "transaction.reverted",
  "block.closed",
  "condition.failed",
  "reference.taken",
  "asset.suspended",
  "token.pending",
  "entity.deleted",
  "version.conflict",
  "stop.active",
  "chain.quarantined",
  "event.expired",
  "transaction.archived",
  "time.archived",
  "idempotency.key_reused",
  "address.invalid",
  "asset.unknown",
  "asset.no_testnet",
  "token.unsupported_chain",
  "token.invalid",
  "chain.not_configured",
  "recipient.invalid",
  "recipient.missing",
  "recipient.no_interaction",
  "rate.limited",
  "internal",
  "extension.disabled",
  "upstream.failed",
  "chain.stale",
  "service.overloaded",
  "upstream.timeout"
] as const;
