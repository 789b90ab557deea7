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
import { linkedPerDay } from "../domain/chain_settings.ts";
import { eventDays } from "../domain/event_settings.ts";
import { withdrawalSettings } from "../domain/withdrawal_settings.ts";
import type { People } from "../domain/people/people.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../domain/security/serving_secrets.ts";
import type { DueMessage } from "../domain/messages/sending.ts";
import type { MessageStatus } from "../domain/messages/statuses.ts";
import type { Chains } from "./chains/registry.ts";
import type { Exchanges } from "./exchange_gateway.ts";
import type { Signer } from "./keys/signer.ts";

/** The provider's answer: it has the message, or refuses it for good by the state it gives. */
export interface Handover {
  provider: "infobip" | "smtp";
  status: MessageStatus;
}

/** A provider that takes the messages of a channel. */
export interface MessageGateway {
  /**
   * Hands a message over. A second call with the same message is recognised by its id where the
   * provider can.
   *
   * @throws {GatewayError}
   */
  send(message: DueMessage, signal: AbortSignal): Promise<Handover>;
}

/** What a process sends messages with. */
export interface Messaging {
  /** Encrypts and decrypts the contents of messages at rest. */
  secrets: Secrets;
  /** The provider of a message; null: none is configured, and the message stays as it is. */
  gatewayOf(message: Pick<DueMessage, "channel" | "toPerson">): MessageGateway | null;
  /** Whether the provider of a channel has refused our settings lately, and is asked once a minute for a realm. */
  isHeld(channel: DueMessage["channel"], realm: string): boolean;
  /** Whether a realm waits for its reconciliation: nothing is sent meanwhile. Unset: none does. */
  isApart?: (target: Pick<RealmTarget, "realm" | "pool">) => Promise<boolean>;
  /** Age in milliseconds from which a message is not sent any more. */
  ttlMs: number;
  /** Ends connections. */
  close(): void;
}

/** Dependencies that all workers of a process share. */
export interface WorkerDependencies {
  database: Database;
  log: Log;
  chains: Chains;
  signer: Signer;
  /** Absent in a process that sends no messages: jobs that need it are left to others. */
  messaging?: Messaging;
  /** Unset: the process reaches no exchange. */
  exchanges?: Exchanges;
  /** Absent in a process that runs no jobs. */
  people?: People;
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
  messaging: Messaging | null;
  exchanges?: Exchanges;
  people?: People;
  /**
   * Notes in the platform's database all that is committed in the realm's, where that is another one. Unset: it is
   * not, or nothing leaves.
   */
  noteRealm?: () => Promise<void>;
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
  { log, chains, signer, exchanges, messaging, people, now }: Omit<WorkerDependencies, "database">,
  { realm, pool, signal }: RealmTarget,
  requestId?: string,
): WorkerContext {
  const at = now();
  return {
    ...{ realm, pool, log, chains, signer, exchanges, people, signal },
    messaging: messaging ?? null,
    actor: workerActor(realm, requestId ?? newId(at), at),
    step: (work, ...options) => serializable(pool, work, ...options),
  };
}

/**
 * What a task sends messages with.
 *
 * @throws {Error} in a process without it; the job is tried again
 */
export function messagingOf({ messaging }: Pick<WorkerContext, "messaging">): Messaging {
  if (messaging === null) throw new Error("this process sends no messages");
  return messaging;
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
      linkedPerDay: linkedPerDay(realm.settings),
      eventDays: eventDays(realm.settings),
    },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId,
    address: null,
  };
}
