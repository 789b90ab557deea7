/** How requests fare that only wait, when the service ends. */
import { deepEqual, equal } from "node:assert/strict";
import { endServer } from "../../commands/ending.ts";
import { createApp } from "../../routes/http/app.ts";
import { searching } from "../../routes/http/concurrency_limit.ts";
import { waitersAt } from "../../routes/http/waiting.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

Deno.test("a service that ends answers waiting requests at once, and waits for no slow body", async () => {
  await using realm = await testRealm();
  const { services, admin } = realm;
  const { pool } = (await services.realms.find(realm.id))!;
  const { name } = await realm.currency("1");
  const app = createApp(services, PLATFORM_KEY);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  const { port } = server.addr as Deno.NetAddr;
  const over = Promise.withResolvers<void>();
  const searches = [1, 2].map(() => searching(pool, () => over.promise));
  const ask = async (path: string, more: RequestInit = {}) => {
    const headers = { "x-api-key": admin.key, ...more.headers };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { ...more, headers });
    return { status: answer.status, body: await answer.json() };
  };
  const waits = ask("/v1/accounts", {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "wait=30" },
    body: JSON.stringify({ type: "virtual", asset: name }),
  });
  const queued = ask(`/v1/accounts/count?query=${encodeURIComponent('{"data.a":1}')}`);
  const silent = await Deno.connect({ hostname: "127.0.0.1", port });
  await silent.write(
    new TextEncoder().encode(
      `POST /v1/identities HTTP/1.1\r\nhost: a\r\nx-api-key: ${admin.key}\r\n` +
        "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
    ),
  );
  await until(() => waitersAt(pool) === 1);
  services.ending.begin();
  const made = await waits;
  deepEqual([made.status, made.body.enabled], [201, false]);
  const refused = await queued;
  deepEqual([refused.status, refused.body.code], [503, "service.overloaded"]);
  const said = new Uint8Array(1000);
  const size = await silent.read(said);
  equal(new TextDecoder().decode(said.subarray(0, size!)).slice(0, 12), "HTTP/1.1 503");
  silent.close();
  over.resolve();
  await Promise.all(searches);
  await server.shutdown();
});

Deno.test("a request that does not end keeps no service from its end", async () => {
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<Response>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    begun.resolve();
    return over.promise;
  });
  const { port } = server.addr as Deno.NetAddr;
  const asked = fetch(`http://127.0.0.1:${port}/`);
  await begun.promise;
  const told: string[] = [];
  await endServer(server, (_level, message) => void told.push(message), 20);
  deepEqual(told, ["connections were cut that did not end"]);
  over.resolve(new Response("late"));
  await (await asked).text();
  await server.finished;
});
