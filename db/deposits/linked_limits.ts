/** Statements on the limit of deposits at linked addresses. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Tx } from "../database.ts";
import type { SeenDeposit } from "./deposits.ts";

/** A linked address, and how many deposits its account has of late. */
export interface LinkUse {
  id: string;
  address: string;
  account: string;
  /** The owner of the account. */
  owner: string | null;
  /** More arrived than the limit, so that it is not watched. */
  paused: boolean;
  /** Deposits of the account since then; one above the limit stands for any more. */
  recorded: number;
}

/** Reads how far linked addresses have used up their limit; own addresses have none. */
export async function selectLinkUse(
  tx: Tx,
  { chain, network }: NetworkKey,
  { addresses, since, max }: { addresses: readonly string[]; since: string; max: number },
): Promise<LinkUse[]> {
  return await tx<LinkUse[]>`
    select e.id, e.address, e.account, a.owner, e.paused_at is not null as paused,
      (select count(*)::integer from (select from deposits d
        where d.account = e.account and d.id > ${since} limit ${max + 1}) n) as recorded
    from (select distinct jsonb_array_elements_text(${tx.json([...addresses])}) as address) g,
      lateral (select id, address, account, paused_at, chain, network from external_addresses
        where address = g.address and deleted_at is null offset 0) e,
      lateral (select owner from accounts where id = e.account offset 0) a
    where e.chain = ${chain} and e.network = ${network}
      and (select true from addresses o
        where (o.chain, o.network, o.address) = (e.chain, e.network, e.address) limit 1) is null
    order by e.id`;
}

/** Lists those of some deposits that are recorded. */
export async function selectKnownDeposits(
  tx: Tx,
  { chain, network }: NetworkKey,
  seen: readonly SeenDeposit[],
): Promise<Pick<SeenDeposit, "hash" | "index" | "address">[]> {
  const given = seen.map(({ hash, index }) => ({ hash, index }));
  return await tx<Pick<SeenDeposit, "hash" | "index" | "address">[]>`
    select d.hash, d.index, d.address
    from (select distinct hash, index
        from jsonb_to_recordset(${tx.json(given)}) g(hash text, index integer)) g,
      lateral (select * from deposits d where d.hash = g.hash and d.index = g.index offset 0) d
    where d.chain = ${chain} and d.network = ${network}`;
}

/** Ends the watch of linked addresses. */
export async function pauseLinks(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  await tx`
    update external_addresses set paused_at = ${at}
    where id = any (${`{${ids.join(",")}}`}::text::uuid[]) and paused_at is null`;
}
