/**
 * Who reads about whom: lines of the audit trail for reads of a customer's data by those who work for the realm. A process
 * notes each reader, customer and hour once, and writes in the background: a read neither waits for it nor fails by it.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import { insertReads, type ReadRow } from "../../db/records.ts";
import { writing } from "../../db/transaction.ts";
import type { Actor } from "../actor.ts";
import { newId } from "../ids.ts";
import { rightsOf } from "../permissions.ts";

/** What was read: an entity, or a list of what all customers have. */
export type ReadSubject = { entity: string } | { list: string };

const HOUR_MS = 3_600_000;
const NOTED_MAX = 20_000;
/** Lines of one statement. */
const WRITTEN_MAX = 500;

/** Notes reads of a realm. What cannot be written is noted again with the next read of its kind. */
export function openReadNotes(pool: () => Pool): (actor: Actor, subject: ReadSubject) => void {
  const noted = new Set<string>(); // the oldest first
  const waiting = new Map<string, ReadRow>();
  let isWriting = false;
  async function write(): Promise<void> {
    isWriting = true;
    while (waiting.size > 0) {
      const some = [...waiting].slice(0, WRITTEN_MAX);
      for (const [key] of some) waiting.delete(key);
      const rows = some.map(([, row]) => row);
      try {
        await writing(pool(), (db) => insertReads(db, rows));
      } catch {
        for (const [key] of some) noted.delete(key);
      }
    }
    isWriting = false;
  }
  return (actor, subject) => {
    if (actor.kind !== "user" || rightsOf(actor).read !== "all") return;
    const hour = Math.floor(actor.at / HOUR_MS);
    const what = "entity" in subject ? subject.entity : subject.list;
    const key = `${actor.user} ${what} ${hour}`;
    if (noted.has(key) || waiting.size >= NOTED_MAX) return;
    if (noted.size >= NOTED_MAX) noted.delete(noted.values().next().value!);
    noted.add(key);
    waiting.set(key, rowOf(actor, subject));
    if (!isWriting) write().catch(() => {}); // it catches all itself: no caller waits for it
  };
}

function rowOf(actor: Actor, subject: ReadSubject): ReadRow {
  return {
    id: newId(actor.at),
    actor: actor.user,
    action: "entity" in subject ? "customer.view" : `${subject.list}.view`,
    entity: "entity" in subject ? subject.entity : null,
    request_id: actor.requestId,
    address: actor.address,
    api_key: actor.apiKey?.id ?? null,
    api_key_name: actor.apiKey?.name ?? null,
  };
}
