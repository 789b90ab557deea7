/** Statements on the nonces of senders. @module */
import type { Db, Tx } from "./database.ts";
import type { SenderName } from "./orders.ts";

/** Takes the next nonce of a sender: at least as many as the chain has mined. */
export async function takeNonce(tx: Tx, of: SenderName, mined: number): Promise<number> {
  const [row] = await tx<{ next: number }[]>`
    insert into nonces (chain, network, address, next)
    values (${of.chain}, ${of.network}, ${of.sender}, ${mined} + 1)
    on conflict (chain, network, address) do update set next = greatest(nonces.next, ${mined}) + 1
    returning next`;
  return row.next - 1;
}

/** Lists nonces below the next one that no living order will use, at most 100. */
export async function selectGaps(db: Db, of: SenderName, mined: number): Promise<number[]> {
  const rows = await db<{ nonce: number }[]>`
    select n as nonce from nonces s cross join generate_series(${mined}::integer, s.next - 1) as n
    where s.chain = ${of.chain} and s.network = ${of.network} and s.address = ${of.sender}
      and not exists (select 1 from claims c where c.chain = s.chain and c.network = s.network
        and c.claim = s.address || ':' || n)
    order by n limit 100`;
  return rows.map((row) => row.nonce);
}
