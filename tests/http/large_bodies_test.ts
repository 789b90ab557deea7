/** How many large bodies are in memory, and handled, at once. */
import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { DomainError } from "../../domain/errors.ts";
import {
  type LargeBodySlot,
  reserveLargeBody,
  turnOfLarge,
} from "../../routes/http/large_bodies.ts";
import {} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("large bodies in one realm");

test("of large requests of a realm two are handled at once, few wait, and small ones pass beside them", async (realm) => {
  const { name, account } = await realm.currency("9");
  const to = await realm.account({ asset: name });
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const pad = " ".repeat(1024 * 1024);
  const send = (reference: string, large: boolean) => {
    const item = { source: { account }, destination: { account: to }, value: "1", reference };
    const batch = { atomic: false, transactions: [item] };
    const text = JSON.stringify(batch) + (large ? pad : "");
    return realm.admin.send("POST", "/v1/transactions/batch", text);
  };
  const { signal } = new AbortController();
  const running = await Promise.all([1, 2].map(() => turnOfLarge(pool, signal)));
  const away = new AbortController();
  const waiting = Array.from({ length: 9 }, () => turnOfLarge(pool, signal));
  const left = turnOfLarge(pool, away.signal);
  const full = await send("full", true);
  deepEqual([full.status, full.body.code], [503, "service.overloaded"], full.text);
  equal((await send("small", false)).status, 200);
  away.abort(new DomainError("request.malformed", "left"));
  await rejects(left, { message: "left" });
  for (const leave of running) leave();
  for (const turn of waiting) (await turn)();
  const large = await send("large", true);
  equal(large.status, 200, large.text);
  const again = await Promise.all([turnOfLarge(pool, signal), turnOfLarge(pool, signal)]);
  for (const leave of again) leave();
});

test("large bodies that are still coming in have their places: of one user eight, and the next is not read", async (realm) => {
  const other = await realm.user({ role: "admin", scope: "realm" });
  await using process = realm.another();
  const gone: ReadableStreamDefaultController<Uint8Array>[] = [];
  const opened: Promise<void>[] = [];
  /** Sends more than a megabyte, and then nothing. */
  const send = (key: string, length: number | null) => {
    const begun = Promise.withResolvers<void>();
    opened.push(begun.promise);
    let asked = 0;
    const body = new ReadableStream<Uint8Array>({
      start: (to) => void gone.push(to),
      pull(to) {
        if (length === null && asked++ === 0) {
          to.enqueue(new Uint8Array(1024 * 1024 + 1).fill(0x20));
          return;
        }
        begun.resolve();
        return new Promise(() => {});
      },
    }, { highWaterMark: 0 });
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const url = "http://purser.test/v1/transactions/batch";
    const request = new Request(url, { method: "POST", body, headers });
    if (length !== null) { // a Request does not set it itself
      const told = new Headers({ ...headers, "content-length": `${length}` });
      Object.defineProperty(request, "headers", { value: told });
    }
    return process.app(request, "127.0.0.1");
  };
  const slow = Array.from({ length: 8 }, (_, i) => send(realm.admin.key, i < 4 ? null : 2_000_000));
  await Promise.all(opened);
  const next = await send(realm.admin.key, 2_000_000);
  deepEqual([next.status, (await next.json()).code], [503, "service.overloaded"]);
  const others = Array.from({ length: 4 }, () => send(other.key, 2_000_000));
  await Promise.all([...opened.slice(0, 8), ...opened.slice(9)]);
  const full = await send(other.key, null);
  deepEqual([full.status, (await full.json()).code], [503, "service.overloaded"]);
  for (const to of gone) {
    try {
      to.error(new Error("left"));
    } catch { /* it was refused */ }
  }
  for (const answer of [...slow, ...others]) equal((await answer).status, 400);
  const small = { atomic: false, transactions: [] };
  const text = JSON.stringify(small) + " ".repeat(1024 * 1024);
  const sent = process.send(realm.admin.key)("POST", "/v1/transactions/batch", text);
  equal((await sent).status, 400, "the places are free again");
});

Deno.test("large requests of all realms together have a limit, and released slots are free again", async () => {
  const realms = Array.from({ length: 7 }, () => ({}));
  const { signal } = new AbortController();
  const places: LargeBodySlot[] = [];
  const fill = (pool: object, isHouse: boolean) => {
    const before = places.length;
    const reserve = () => void places.push(reserveLargeBody(pool, `${places.length % 2}`, isHouse));
    for (let i = 0; i < 12; i++) {
      try {
        reserve();
      } catch {
        break;
      }
    }
    throws(reserve, { code: "service.overloaded" });
    return places.length - before;
  };
  deepEqual(realms.slice(0, 6).map((pool) => fill(pool, true)), [12, 10, 5, 3, 1, 1]);
  throws(() => reserveLargeBody(realms[6], "c", true), { code: "service.overloaded" });
  for (const place of places.splice(0)) place.leave();
  deepEqual(realms.slice(0, 6).map((pool) => fill(pool, false)), [8, 8, 6, 3, 2, 1]);
  equal(fill(realms[6], true), 2, "customers of all realms leave some to those who work for one");
  const turns = realms.slice(0, 3).map((
    pool,
  ) => [turnOfLarge(pool, signal), turnOfLarge(pool, signal)]);
  const first = await Promise.all([...turns[0], ...turns[1]]);
  let isTheirs = false;
  const third = Promise.all(turns[2]).then((leaves) => {
    isTheirs = true;
    return leaves;
  });
  await turnOfLarge(realms[3], AbortSignal.abort(new DomainError("request.malformed", "left")))
    .then(() => ok(false), (error) => equal(error.message, "left"));
  equal(isTheirs, false, "four at once, whichever realms they are of");
  for (const leave of first) leave();
  for (const leave of await third) leave();
  for (const place of places) place.leave();
  reserveLargeBody(realms[6], "c", true).leave();
});
