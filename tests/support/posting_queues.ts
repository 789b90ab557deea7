/** Lanes apart from the app's, and moves to put on them. @module */
import { openDatabase, type Pool } from "../../db/database.ts";
import {
  openPostingQueue,
  type PostingQueue,
  type PostingQueueOptions,
} from "../../db/ledger/posting_queue.ts";
import type { Bulk, KeyedMove } from "../../db/ledger/posting_protocol.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { testDatabaseUrl } from "./database.ts";
import type { TestRealm } from "./realm.ts";

/** A queue on a database handle of its own, as another process would have. */
export interface OwnQueue extends AsyncDisposable {
  queue: PostingQueue;
  pool: Pool;
}

/** Opens a queue as a process of its own would. */
export async function ownQueue(
  realm: TestRealm,
  options: PostingQueueOptions & { prepare?: boolean; url?: string } = {},
): Promise<OwnQueue> {
  const database = openDatabase({
    url: options.url ?? testDatabaseUrl(),
    prepare: options.prepare ?? true,
    parseJson: parseStoredJson,
  });
  const { location } = (await realm.services.realms.find(realm.id))!;
  const pool = database.postingPool(location);
  const queue = openPostingQueue(pool, options);
  return { queue, pool, [Symbol.asyncDispose]: () => database.close() };
}

/** Two accounts of a currency of their own, and moves between them. */
export interface Book {
  realm: TestRealm;
  source: string;
  destination: string;
  move(of?: Partial<KeyedMove>): KeyedMove;
  total(account: string): Promise<string>;
}

/** Makes a currency whose supply is on the source. */
export async function book(realm: TestRealm, supply = "1000"): Promise<Book> {
  const { name, account: source } = await realm.currency(supply);
  const destination = await realm.account({ asset: name });
  return {
    realm,
    source,
    destination,
    move: (of = {}) => ({
      source,
      destination,
      amount: "1",
      actor: realm.admin.id,
      mayMoveAny: false,
      clientIp: null,
      apiKey: null,
      seal: null,
      data: null,
      reference: null,
      extras: null,
      key: crypto.randomUUID(),
      fingerprint: crypto.randomUUID(),
      ...of,
    }),
    total: async (account) => (await realm.balance(account)).total,
  };
}

/** Moves as one request of the realm's administrator. */
export function bulkOf(realm: TestRealm, moves: KeyedMove[]): Bulk {
  return {
    moves,
    atomic: true,
    key: crypto.randomUUID(),
    fingerprint: crypto.randomUUID(),
    requestId: "r",
    unresolved: null,
    actor: realm.admin.id,
    mayMoveAny: false,
    clientIp: null,
    apiKey: null,
  };
}
