/** When the logins of a realm were last used, as a process notes it. @module */
import type { Pool } from "../../db/database.ts";
import { markLoginsUsed } from "../../db/identity/logins.ts";
import { writing } from "../../db/transaction.ts";

const NOTED_MS = 60_000;
const NOTED_MAX = 10_000;

/**
 * Records when logins were last used: each at most once a minute, and with one statement at a time,
 * which writes all uses that were recorded while the one before ran.
 */
export function openLoginUses(pool: () => Pool): (login: string, at: number) => void {
  const noted = new Map<string, number>(); // the longest unused first
  let waiting = new Map<string, number>();
  let isWriting = false;
  function write(): void {
    const uses = waiting;
    waiting = new Map();
    isWriting = true;
    // No caller waits for this write; a lost one is made up a minute later.
    writing(pool(), (db) => markLoginsUsed(db, uses)).catch(() => {}).finally(() => {
      isWriting = false;
      if (waiting.size > 0) write();
    });
  }
  return (login, at) => {
    if (at - (noted.get(login) ?? 0) < NOTED_MS) return;
    noted.delete(login);
    if (noted.size >= NOTED_MAX) noted.delete(noted.keys().next().value!);
    noted.set(login, at);
    waiting.set(login, at);
    if (!isWriting) write();
  };
}
