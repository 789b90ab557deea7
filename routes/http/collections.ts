/** The list of all collections, which relations name. @module */
import { ACCOUNTS } from "../../domain/accounts/account_collection.ts";
import type { AnyCollection, Collections } from "../../domain/collections/collection.ts";
import { CURRENCY_COLLECTION } from "../../domain/currencies/currency_collection.ts";
import { TOKEN_COLLECTION } from "../../domain/currencies/token_collection.ts";
import { DEPOSIT_APPS } from "../../domain/deposits/deposit_app_collection.ts";
import { EXTERNAL_RAMPS } from "../../domain/exchanges/external_ramps.ts";
import { ALIASES } from "../../domain/identity/aliases.ts";
import { IDENTITIES } from "../../domain/identity/identity_collection.ts";
import { MESSAGES } from "../../domain/messages/messages.ts";
import { USERS } from "../../domain/identity/user_collection.ts";
import { TRANSACTIONS } from "../../domain/ledger/transaction_collection.ts";
import { WEBHOOKS } from "../../domain/webhooks/webhooks.ts";
import { WITHDRAWALS } from "../../domain/withdrawals/withdrawal_collection.ts";

const ALL: readonly AnyCollection[] = [
  ACCOUNTS,
  ALIASES,
  CURRENCY_COLLECTION,
  DEPOSIT_APPS,
  EXTERNAL_RAMPS,
  IDENTITIES,
  MESSAGES,
  TOKEN_COLLECTION,
  TRANSACTIONS,
  USERS,
  WEBHOOKS,
  WITHDRAWALS,
];

/** All collections by their names. */
export const COLLECTIONS: Collections = new Map(ALL.map((one) => [one.name, one]));
