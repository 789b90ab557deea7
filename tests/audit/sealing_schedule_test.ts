import { deepEqual, equal, ok } from "node:assert/strict";
import { createLog } from "../../log.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { POLL_MS, startTimetable } from "../../workers/schedule/timetable.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

/** Longer than anything here takes, on a machine that has other things to do. */
const ANSWER_MS = 300_000;

/** Starts the timetable of a process, for one realm. */
function startAt(process: Pick<TestRealm, "services" | "database">, realm: TestRealm) {
  return startTimetable({
    database: process.database,
    log: createLog({ level: "error", format: "pretty" }),
    now: Date.now,
    chains: openChains(process.services.config.chains),
    signer: openSigner(process.services.config.masterKey!, Date.now),
    rates: null,
  }, { only: realm.id });
}

/** A currency's account, another one, and what moves from one to the other. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  const one = { source: { account }, destination: { account: other }, value: "1" };
  return {
    move: async () => {
      const answer = await realm.admin.send("POST", "/v1/transactions", one);
      equal(answer.status, 201);
      return answer.body.id as string;
    },
    batch: async (count: number) => {
      const transactions = new Array(count).fill(one);
      const body = { atomic: true, transactions };
      equal((await realm.admin.send("POST", "/v1/transactions/batch", body)).status, 201);
    },
  };
}

Deno.test("a posted transaction is linked by the next poll, at the latest by the one after it", async () => {
  ok(2 * POLL_MS < 1000, "two polls are within a second");
  await using realm = await testRealm();
  let polls = 0;
  const waiting = new Set<() => void>();
  await using process = realm.another({}, (text) => {
    if (!/as unsealed/.test(text)) return;
    polls++;
    for (const wake of waiting) wake();
  });
  /** Waits until the timetable has polled so many times. */
  async function reached(count: number): Promise<void> {
    const late = performance.now() + ANSWER_MS;
    while (polls < count) {
      if (performance.now() > late) throw new Error(`${polls} polls instead of ${count}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(wake, ANSWER_MS);
        function wake(): void {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        }
        waiting.add(wake);
      });
    }
  }
  const { move } = await fixture(realm);
  await extendHashChain(realm.pool, Date.now); // nothing older is left to link
  const timetable = startAt(process, realm);
  try {
    await reached(1);
    let least = Infinity;
    for (let round = 0; round < 5 && least > 1; round++) {
      const id = await move();
      const before = polls;
      let passes = -1;
      for (let linked = false; !linked; passes++) {
        // When a poll is made, what the one before it found has been committed.
        await reached(before + passes + 2);
        const [row] = await rowsOf<{ seq: string }>(
          realm,
          "select seq from chain_links where transaction = $1",
          [id],
        );
        linked = row !== undefined;
      }
      // A poll may have been on its way when the move was committed. On a starved machine one may
      // fail and be made again, but not each time.
      least = Math.min(least, passes);
    }
    ok(least <= 1, `it took ${least} passes`);
  } finally {
    await timetable.stop();
  }
});

Deno.test("a backlog drains in the order of commit, however much was committed at once", async () => {
  await using realm = await testRealm();
  const { move, batch } = await fixture(realm);
  for (const count of [1, 2500, 3, 999, 1001]) await batch(count);
  await Promise.all([move(), move(), move()]);
  const [{ ids }] = await rowsOf<{ ids: string[] }>(
    realm,
    `select array_agg(u.id::text order by c.id, u.ord) as ids
      from ledger_commits c cross join unnest(c.transactions) with ordinality u(id, ord)`,
  );
  equal(await extendHashChain(realm.pool, Date.now), 4508);
  const rows = await rowsOf<{ transaction: string }>(
    realm,
    "select transaction from chain_links where transaction is not null order by seq",
  );
  deepEqual(rows.map(({ transaction }) => transaction), ids);
  const { body } = await realm.admin.send("GET", "/v1/transactions/head");
  deepEqual([body.seq > 4508, body.unsealed], [true, 0]);
});

Deno.test("the hash chain waits for no move, and no move waits for the chain", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  await move();
  // Under the ledger lock, as a long command would be.
  const linked = await realm.command(async () => await extendHashChain(realm.pool, Date.now), {
    lockLedger: true,
  });
  equal(linked, 2);
  await realm.pool.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select seq from chain_head for update`; // as a sealer in the middle would
    await move();
    equal(await extendHashChain(realm.pool, Date.now), 0);
  });
  equal(await extendHashChain(realm.pool, Date.now), 1);
});
