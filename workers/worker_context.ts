/** The worker context: what every task in a worker is given. @module */
import type { Pool, Tx } from "../db/database.ts";
import type { RealmRow } from "../db/realms/realms.ts";
import type { Actor } from "../domain/actor.ts";
import { withdrawalSettings } from "../domain/withdrawal_settings.ts";
import type { Log } from "../log.ts";
import type { Chains } from "./chains/registry.ts";
import type { Signer } from "./keys/signer.ts";

/** The realm, pools and clients that a task works with. */
export interface WorkerContext {
  realm: RealmRow;
  pool: Pool;
  actor: Actor;
  log: Log;
  chains: Chains;
  signer: Signer;
  /** Aborted when the process is leaving. */
  signal: AbortSignal;
  /** One serializable transaction. No network inside, ever. */
  step<T>(work: (tx: Tx) => Promise<T>, options?: { lockLedger?: boolean }): Promise<T>;
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
    },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId,
    address: null,
  };
}
