/** The worker context: the realm and the services that every task of a worker is given. @module */
import type { Database, Pool } from "../db/database.ts";
import type { RealmRow } from "../db/realms/realms.ts";
import {
  type OptionsFor,
  serializable,
  type TransactionOptions,
  type TxFor,
} from "../db/transaction.ts";
import type { Actor } from "../domain/actor.ts";
import { newId } from "../domain/ids.ts";
import { eventDays } from "../domain/event_settings.ts";
import { withdrawalSettings } from "../domain/withdrawal_settings.ts";
import type { Log } from "../log.ts";
import type { Chains } from "./chains/registry.ts";
import type { Signer } from "./keys/signer.ts";

/** Dependencies that all workers of a process share. */
export interface WorkerDependencies {
  database: Database;
  log: Log;
  chains: Chains;
  signer: Signer;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** A realm, and the connections over which a worker works in it. */
export interface RealmTarget {
  realm: RealmRow;
  pool: Pool;
  /** Aborted when the process ends. */
  signal: AbortSignal;
}

/** The realm, pool and services that a task works with. */
export interface WorkerContext extends RealmTarget {
  actor: Actor;
  log: Log;
  chains: Chains;
  signer: Signer;
  /** Runs one serializable transaction. No network call is made inside one. */
  readonly step: <T, Locked extends boolean = false>(
    work: (tx: TxFor<Locked>) => Promise<T>,
    ...options: OptionsFor<Locked, TransactionOptions<Locked>>
  ) => Promise<T>;
}

/**
 * Makes the context of one task.
 *
 * @param requestId names the task in the audit trail; a new id unless given
 */
export function workerContext(
  { log, chains, signer, now }: Pick<WorkerDependencies, "log" | "chains" | "signer" | "now">,
  { realm, pool, signal }: RealmTarget,
  requestId?: string,
): WorkerContext {
  const at = now();
  return {
    ...{ realm, pool, log, chains, signer, signal },
    actor: workerActor(realm, requestId ?? newId(at), at),
    step: (work, ...options) => serializable(pool, work, ...options),
  };
}

/** The actor that stands for the service itself. */
export function workerActor(realm: RealmRow, requestId: string, at: number): Actor {
  return {
    user: realm.id,
    kind: "worker",
    realm: {
      id: realm.id,
      country: realm.country,
      accountingCurrency: realm.accounting_currency,
      withdrawals: withdrawalSettings(realm.settings),
      eventDays: eventDays(realm.settings),
    },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId,
    address: null,
  };
}
