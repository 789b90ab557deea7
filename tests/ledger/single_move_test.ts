import { deepEqual, ok } from "node:assert/strict";
import type { KeyedMove, Outcome } from "../../db/ledger/posting_protocol.ts";
import { type Book, book, ownQueue } from "../support/posting_queues.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const STRANGER = crypto.randomUUID();
const KEPT = crypto.randomUUID();

/** Variants of moves, good and bad. */
const VARIANTS: readonly ((of: Book, other: Book) => Partial<KeyedMove>)[] = [
  () => ({}),
  () => ({ amount: "0.000000000000000001", seal: '{"a":[1]}', data: '{"b":"2"}' }),
  () => ({ key: null, fingerprint: null, clientIp: "192.0.2.7" }),
  () => ({ apiKey: STRANGER }),
  () => ({ actor: STRANGER, mayMoveAny: true }),
  () => ({ actor: null, mayMoveAny: true }),
  () => ({ amount: "5", key: KEPT, fingerprint: KEPT }),
  () => ({ amount: "6", key: KEPT, fingerprint: KEPT }),
  () => ({ amount: "6", key: KEPT }),
  () => ({ actor: STRANGER }),
  () => ({ amount: "1001" }),
  () => ({ amount: "0.0000000000000000001" }),
  () => ({ amount: "1.00000000000000000000" }),
  (of) => ({ destination: of.source }),
  (of) => ({ source: of.destination, destination: of.source }),
  (_, other) => ({ destination: other.destination }),
  () => ({ source: STRANGER }),
  () => ({ destination: STRANGER }),
  () => ({ reference: "r" }),
  () => ({ extras: '{"source_total_eq":1}' }),
];

Deno.test("a move alone ends as it does in a crowd, and leaves the same rows", async () => {
  await using realm = await testRealm();
  const [alone, crowd, filler] = [await book(realm), await book(realm), await book(realm)];
  await using own = await ownQueue(realm);
  await realm.pool.sql`update currencies set base = 'USD', rate = 1.005`;
  const frozen = (of: Book) => realm.admin.send("POST", `/v1/accounts/${of.destination}/freeze`);
  const posts: Record<"alone" | "crowd", Outcome[]> = { alone: [], crowd: [] };
  for (const [at, variant] of [...VARIANTS, ...VARIANTS].entries()) {
    if (at === VARIANTS.length) await Promise.all([frozen(alone), frozen(crowd)]);
    // A key is one of its book's; references are the realm's.
    const of = (name: "alone" | "crowd", one: Book) => {
      const given = variant(one, filler);
      const key = given.key === KEPT ? { key: name === "alone" ? KEPT : realm.id } : {};
      const reference = given.reference ? { reference: `${name} ${at}` } : {};
      return one.move({ ...given, ...key, ...reference });
    };
    posts.alone.push(await own.queue.post(of("alone", alone)));
    const both = [own.queue.post(of("crowd", crowd)), own.queue.post(filler.move())];
    posts.crowd.push((await Promise.all(both))[0]);
  }
  const plain = (outcomes: readonly Outcome[]) =>
    outcomes.map((outcome) => {
      if ("posted" in outcome) return { ...outcome.posted, id: "", at: 0 };
      if ("replay" in outcome) return { ...outcome.replay, transaction: "" };
      return outcome;
    });
  deepEqual(plain(posts.alone), plain(posts.crowd));
  ok(posts.alone.some((one) => "posted" in one && one.posted.destinationBlocked === null));
  const [one, other] = [await rowsBetween(realm, alone), await rowsBetween(realm, crowd)];
  deepEqual(one, other);
  ok(one.length > 10 && one.some((row) => row.fiat_rate !== null));
});

/** The rows written for the transfers between a book's accounts. */
async function rowsBetween(
  realm: TestRealm,
  { source, destination }: Book,
): Promise<{ fiat_rate: string | null }[]> {
  return await rowsOf(
    realm,
    `select amount, source_seq, destination_seq, type, testnet, t.owner, host(client_ip) as client_ip, t.api_key,
      fiat_currency, fiat_rate, fiat_value, split_part(reference, ' ', 2) as reference, seal, data,
      (select json_agg(concat_ws(' ', e.amount, e.balance, e.blocked, e.seq) order by e.amount)
        from entries e where e.transaction = t.id) as entries,
      (select count(*)::int from idempotency i where i.transaction = t.id) as keys,
      (select count(*)::int from ledger_commits c where t.id = any (c.transactions))
        + (select count(*)::int from chain_links s where s.transaction = t.id) as commits
    from transactions t left join transaction_data d on d.transaction = t.id
    where t.type = 'transfer' and '${source}' in (source, destination)
      and '${destination}' in (source, destination) order by t.id`,
  );
}
