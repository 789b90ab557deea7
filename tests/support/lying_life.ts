/**
 * Lives of a service among lies: payments come and go while a node lies about one field after the other;
 * then it tells the truth, and everything must have come to its right end, once.
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { fieldsOf, type Lie, liesAbout, type LyingNode, nameOf } from "./lies.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

/** A service that lives behind a node that may lie. */
export interface Life {
  readonly realm: TestRealm;
  readonly node: LyingNode;
  /** The present lie; null is the truth. */
  readonly telling: { lie: Lie | null };
  /** Pays to the service; gives the transaction id. */
  deposit(): Promise<string>;
  /** Asks for a withdrawal to somebody new; gives its id and who is paid. */
  withdraw(): Promise<{ readonly id: string; readonly to: string }>;
  /** Has small coins consolidated, where the chain has coins. */
  consolidate?(): Promise<void>;
  /** Mines, polls and runs the jobs that follow. */
  step(): Promise<void>;
  /** The balance of an outside address, in base units. */
  held(to: string): Promise<bigint>;
  /** Payment of a withdrawal in base units, and amount of a deposit in whole units. */
  readonly paid: bigint;
  readonly brings: string;
  /** Compares chain and ledger. */
  agree(): Promise<void>;
}

/** Steps among lies in one round, and at most until a round has ended. */
const CHECKPOINTS = 6;
const ENDS = 40;

/** Lies that are plainly nonsense: no single node may be believed in any of them. */
export const NONSENSE: ReadonlySet<string> = new Set([
  ...["a number", "a negative number", "a fraction", "a giant number", "words", "long text"],
  ...["an empty object", "a deep list", "long hexadecimal", "negative hexadecimal"],
]);

/**
 * Lives through an honest round, and then through rounds of lies.
 *
 * @param picked which lies are told
 */
export async function live(
  life: Life,
  picked: (lie: Lie, at: number) => boolean,
): Promise<number> {
  await round(life, []);
  const lies = [...life.node.answers].flatMap(([kind, samples]) =>
    fieldsOf(samples).flatMap((field) => liesAbout(kind, field, []))
  ).filter(picked);
  for (let at = 0; at < lies.length; at += CHECKPOINTS) {
    await round(life, lies.slice(at, at + CHECKPOINTS));
  }
  life.telling.lie = null;
  await life.agree();
  deepEqual((await checkLedger(life.realm.pool)).mismatches, []);
  const halted = "select halted from chain_cursors where halted is not null";
  const kept = "select quarantined from ramps where quarantined is not null";
  deepEqual([...await rowsOf(life.realm, halted), ...await rowsOf(life.realm, kept)], []);
  return lies.length;
}

async function round(life: Life, lies: readonly Lie[]): Promise<void> {
  const { realm, telling } = life;
  telling.lie = null;
  const told = lies.map(nameOf).join("; ");
  const logged = heardErrors();
  try {
    const hash = await life.deposit();
    const { id, to } = await life.withdraw();
    await life.consolidate?.();
    for (const lie of lies) {
      telling.lie = lie;
      await life.step();
    }
    telling.lie = null;
    for (let step = 0; !await ended(realm, { hash, id }); step++) {
      if (step === ENDS) throw new Error(`after ${told}: ${await troubles(realm)}`);
      await life.step();
    }
    const [{ status }] = await rowsOf<{ status: string }>(
      realm,
      "select status from withdrawals where id = $1",
      [id],
    );
    // A withdrawal refused before its signature is given back, and paid to nobody.
    equal(await life.held(to), status === "DONE" ? life.paid : 0n, told);
    const rows = await rowsOf<{ status: string; credited: string }>(
      realm,
      "select status, trim_scale(credited)::text as credited from deposits where hash = $1",
      [hash],
    );
    deepEqual([...rows], [{ status: "CONFIRMED", credited: life.brings }], told);
    if (lies.length === 0) equal(status, "DONE");
  } finally {
    deepEqual(logged.end(), [], told);
  }
}

async function ended(
  realm: TestRealm,
  { hash, id }: { readonly hash: string; readonly id: string },
): Promise<boolean> {
  const [row] = await rowsOf<{ ended: boolean }>(
    realm,
    `select (select status <> 'PROCESSING' from withdrawals where id = $1)
      and exists (select from deposits where hash = $2 and status = 'CONFIRMED')
      and not exists (select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined'))
      and not exists (select from deposits where status = 'PENDING' and block is not null)
      as ended`,
    [id, hash],
  );
  return row.ended;
}

async function troubles(realm: TestRealm): Promise<string> {
  return JSON.stringify({
    cursor: await rowsOf(realm, "select height::integer, error, warning from chain_cursors"),
    deposits: await rowsOf(
      realm,
      "select hash, index, status, error from deposits where status <> 'CONFIRMED'",
    ),
    orders: await rowsOf(
      realm,
      "select purpose, state, error from chain_orders where state <> 'done'",
    ),
    jobs: await rowsOf(realm, "select name, last_error from jobs where state <> 'done'"),
  });
}

/** Makes all that waits for its time due. */
export async function makeDue(realm: TestRealm): Promise<void> {
  await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
  await rowsOf(realm, "update deposits set retry_at = now() where retry_at is not null");
  await rowsOf(realm, "update unexplained_gains set retry_at = now()");
}

/** Collects the errors that are logged and that no node is to blame for. */
function heardErrors(): { end(): string[] } {
  const lines: string[] = [];
  const before = console.error;
  console.error = (line: string) => void lines.push(String(line));
  return {
    end() {
      console.error = before;
      return lines.filter((line) =>
        /could not|TypeError|RangeError|PostgresError|InternalError/.test(line)
      );
    },
  };
}
