/**
 * Postings with the rights of the tables' owner, for what no role of the service's may book.
 * @module
 */
import { actingAs } from "../../db/database.ts";
import { moveParameters, positionsOf } from "../../db/ledger/posting_protocol.ts";
import { serializable } from "../../db/transaction.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import type { TestRealm } from "./realm.ts";

/** One move. */
export interface PlainMove {
  source: string;
  destination: string;
  amount: string;
}

/** Books moves of one type by ledger_apply itself, whatever they are; gives why each was refused. */
export async function bookAsOwner(
  realm: TestRealm,
  type: string,
  moves: readonly PlainMove[],
): Promise<string[] | null> {
  const owner = actingAs(realm.database.platform, { ...locationOf(realm.made.realm), role: null });
  const rest = {
    actor: null,
    mayMoveAny: true,
    clientIp: null,
    apiKey: null,
    seal: null,
    data: null,
    extras: null,
  };
  const rows = moves.map((move) => ({ ...move, ...rest, reference: null }));
  const text = `select refusals from ledger_apply($1::text, true, true, false, null, null, null,
    $2::uuid[], $3::int[], $4::int[], $5::numeric[], $6::uuid[], $7::boolean[], $8::inet[],
    $9::uuid[], $10::jsonb[], $11::jsonb[], $12::text[], $13::jsonb[])`;
  const [row] = await serializable(
    owner,
    (tx) =>
      tx.unsafe<{ refusals: string[] | null }[]>(text, [
        type,
        ...moveParameters(rows, positionsOf(rows)),
      ]),
    { lockLedger: true },
  );
  return row.refusals;
}

/** A call of an entrance of the ledger that forges one move. */
export function booking(
  how: string,
  move: { source: string; destination: string; amount?: string; seal?: unknown },
): string {
  const { source, destination, amount = "5", seal } = move;
  const [low, high] = [source, destination].sort();
  const at = (id: string) => id === low ? 1 : 2;
  return `select a.refusals, a.stamp from ${how} array['${low}', '${high}']::uuid[], array[${
    at(source)
  }],
    array[${at(destination)}], array[${amount}]::numeric[], array[null]::uuid[], array[true],
    array[null]::inet[], array[null]::uuid[], array[${
    seal === undefined ? "null" : `'${JSON.stringify(seal)}'`
  }]::jsonb[], array[null]::jsonb[],
    array[null]::text[], array[null]::jsonb[]) a`;
}
