/** Statements on who has written to which WhatsApp number, in the platform's schema. @module */
import type { Db } from "../database.ts";

/** A number that wrote to one of ours. */
export interface InteractionRow {
  /** Our number, digits alone. */
  sender: string;
  /** Theirs (E.164). */
  recipient: string;
  /** Milliseconds since the epoch. */
  last_at: number;
}

/** Records that numbers wrote to ours, and gives how many were news: an older one changes nothing. */
export async function upsertInteractions(
  db: Db,
  rows: readonly InteractionRow[],
): Promise<number> {
  const changed = await db`
    insert into whatsapp_interactions (sender, recipient, last_at)
    select r.sender, r.recipient, r.last_at
    from jsonb_to_recordset(${
    db.json(
      rows.map((row) => ({ ...row, last_at: new Date(row.last_at).toISOString() })) as never,
    )
  }) r(sender text, recipient text, last_at timestamptz)
    on conflict (recipient, sender) do update set last_at = excluded.last_at
      where excluded.last_at > whatsapp_interactions.last_at`;
  return changed.count;
}

/** Whether one of some numbers has written to ours; to any of ours, if `sender` is null. */
export async function existsInteraction(
  db: Db,
  { sender, recipients }: { sender: string | null; recipients: readonly string[] },
): Promise<boolean> {
  const rows = await db`
    select 1 from whatsapp_interactions where recipient = any (${[...recipients]}::text[])
      and (${sender}::text is null or sender = ${sender}) limit 1`;
  return rows.length > 0;
}
