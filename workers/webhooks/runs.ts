/** The run of a webhook's queue: what it shares with others, and what it has in hand. @module */
import type { DueRow, QueueRow } from "../../db/webhooks/queue.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Log } from "../../log.ts";
import type { WebhookClient } from "../gateways/outbound/webhook_client.ts";
import type { RealmTarget } from "../worker_context.ts";
import type { Attempted, Signers } from "./attempts.ts";
import type { Slots } from "./slots.ts";

/** What the runs of a process share. */
export interface RunDependencies {
  log: Log;
  secrets: Secrets;
  client: WebhookClient;
  isApart?: (target: RealmTarget) => Promise<boolean>;
  slots: Slots;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Compares the clock of `now` with the one that all processes share. */
  compare?: () => Promise<void>;
  /** Name of this run in leases: also another run of the same process holds none of them. */
  process: string;
  /** Requests at once to receivers that were slow or failed, by the webhook. */
  widths: Map<string, number>;
}

/** A queue that is being delivered. */
export interface Run {
  given: RunDependencies;
  target: RealmTarget;
  queue: QueueRow;
  signers: Signers;
  /** Requests to this receiver at once. */
  width: number;
  /** Read, and not started yet. */
  ahead: DueRow[];
  /** Events under way, with their entities. */
  inFlight: Map<string, string>;
  /** Not stored yet, and since when by `performance.now()`. */
  results: Attempted[];
  resultAt: number;
  /** Being stored, and how often results were stored. */
  storing: readonly Attempted[];
  stored: number;
  /** Nothing is due but what is in hand, until results are stored. */
  isDry: boolean;
  /** Whether further deliveries are started. */
  more: boolean;
  /** The receiver was down, and took a delivery since the last results were stored. */
  recovered: boolean;
  /** The receiver answered that it is gone for ever. */
  gone: boolean;
  /** When the lease was last taken, by this process's own timer. */
  leasedAt: number;
  /** Ends the pause of the loop, or the next one. */
  wake: () => void;
}
