import { deepEqual, equal, match } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { verify } from "../support/proofs.ts";
import { PLATFORM_KEY, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

/** Changes an answer as a service that lies would. */
type Change = (url: URL, body: unknown) => unknown;

/** A realm's service with an address, and what the script is told of it. */
function serve(realm: TestRealm, change?: Change): AsyncDisposable & { known: string[] } {
  const app = createApp(realm.services, PLATFORM_KEY);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const asked = new Request(request);
      asked.headers.delete("accept-encoding"); // the answer is read here
      const answer = await app(asked, "127.0.0.1");
      if (change === undefined) return answer;
      return Response.json(change(new URL(request.url), await answer.json()));
    },
  );
  return {
    known: ["--url", `http://127.0.0.1:${server.addr.port}`, "--key", realm.admin.key],
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("an auditor recomputes the chain from the API alone, and detects a change", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const sealData = ['{"z":1.000000000000000001,"a":[1e3,"é",{}]}', '{"n":0.10}', "{}", null];
  for (const seal of sealData) {
    const body = `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
      `"value":1.5,"reference":${JSON.stringify(`"${seal}\n`)}${seal ? `,"seal":${seal}` : ""}}`;
    equal((await realm.admin.send("POST", "/v1/transactions", body)).status, 201);
  }
  await realm.admin.send("PUT", "/v1/rates", { base: name, currency: "USD", rate: "1.25" });
  const move = { source: { account }, destination: { account: other }, value: "3" };
  const { body } = await realm.admin.send("POST", "/v1/transactions", move);
  await realm.admin.send("POST", `/v1/transactions/${body.id}/revert`, { data: { not: "sealed" } });
  await extendHashChain(realm.pool, Date.now);
  await using service = serve(realm);
  const { known } = service;
  const sound = await verify(...known);
  const head = (await realm.admin.send("GET", "/v1/transactions/head")).body;
  const kept = `${head.seq}:${head.hash}`;
  deepEqual(sound, {
    code: 0,
    text: `ok: 7 transactions and ${head.seq - 7} events recomputed\nhead ${kept}`,
  });
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  const third = (await realm.admin.send("GET", "/v1/transactions/chain?after=2&limit=1")).body[0];
  const part = await verify(...known, "--from", `3:${third.hash}`, "--expect", kept);
  const events = head.seq - 10;
  match(
    part.text,
    new RegExp(
      `^ok: 7 transactions and ${events} events recomputed\n1 more wait for their links\nhead ${kept}`,
    ),
  );
  const forged = `${head.seq}:${"ab".repeat(32)}`;
  deepEqual(await verify(...known, "--expect", forged), {
    code: 1,
    text: `BROKEN at ${head.seq}: not the head that was kept`,
  });
  deepEqual((await verify(...known, "--from", forged)).code, 1);
  deepEqual((await verify(...known, "--expect", `${head.seq + 2}:${head.hash}`)).code, 1);
  const moved = (await realm.admin.send("GET", `/v1/transactions/${body.id}`)).body;
  await tamper(
    realm,
    `update transactions set seal = '{"n":0.2}' where id =
      (select transaction from chain_links where seq = ${moved.seq})`,
  );
  const broken = await verify(...known);
  equal(broken.code, 1);
  match(broken.text, new RegExp(`^BROKEN at ${moved.seq}: the hash should be [0-9a-f]{64}$`));
  deepEqual((await verify(...known, "--from", "x")).code, 2);
});

/** A realm of more links than one page holds, and the number of its last transaction. */
async function longChain(): Promise<{ realm: TestRealm; last: number }> {
  const realm = await testRealm();
  const { name, account } = await realm.currency("10000");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const batch = { atomic: true, transactions: new Array(2100).fill(move) };
  equal((await realm.admin.send("POST", "/v1/transactions/batch", batch)).status, 201);
  await extendHashChain(realm.pool, Date.now);
  const [{ last }] = await rowsOf<{ last: number }>(
    realm,
    "select max(seq)::int as last from chain_links where transaction is not null",
  );
  return { realm, last };
}

Deno.test("a chain of which a row is gone does not verify, also where it ends a page or the chain", async () => {
  const { realm, last } = await longChain();
  await using _ = realm;
  await using service = serve(realm);
  const { known } = service;
  equal((await verify(...known)).code, 0);
  const goneAt = (seq: number) =>
    `delete from transactions where id = (select transaction from chain_links where seq = ${seq})`;
  for (const seq of [last, 1000]) {
    await tamper(realm, goneAt(seq));
    const { code, text } = await verify(...known);
    match(text, new RegExp(`^BROKEN at ${seq}: the transaction [0-9a-f-]{36} is missing$`));
    equal(code, 1);
    const path = `/v1/transactions/chain?after=${seq - 1}&limit=1`;
    const [link] = (await realm.admin.send("GET", path)).body;
    deepEqual(Object.keys(link).sort(), ["hash", "id", "missing", "salt", "seq"]);
    equal(link.missing, "transaction");
  }
  await tamper(
    realm,
    `delete from ledger_events where id = (select event from chain_links where seq = 1)`,
  );
  match((await verify(...known)).text, /^BROKEN at 1: the event \d+ is missing$/);
});

Deno.test("a service that hides the end of its chain does not verify, and short pages are no end", async () => {
  const { realm, last } = await longChain();
  await using _ = realm;
  const page = (shorten: (after: number, links: unknown[]) => unknown[]): Change => (url, body) => {
    if (!url.pathname.endsWith("/chain")) return body;
    return shorten(Number(url.searchParams.get("after")), body as unknown[]);
  };
  {
    await using service = serve(realm, page((_after, links) => links.slice(0, 700)));
    equal((await verify(...service.known)).code, 0);
  }
  {
    await using service = serve(realm, page((after, links) => after === 0 ? links : []));
    deepEqual(await verify(...service.known), {
      code: 1,
      text: "BROKEN at 1001: the chain ends before the service's head",
    });
  }
  {
    await using service = serve(realm, (url, body) => {
      if (!url.pathname.endsWith("/head")) return body;
      return { ...body as Record<string, unknown>, seq: last, hash: "ab".repeat(32) };
    });
    deepEqual(await verify(...service.known), {
      code: 1,
      text: `BROKEN at ${last}: the service names another head`,
    });
  }
});
