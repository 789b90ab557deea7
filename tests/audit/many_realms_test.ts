/** `audit` and `reconcile` over realms of which one is wrong and others cannot be reached. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { fixture } from "../backup/fixture.ts";
import { moveTo, otherServer, withMoney } from "../backup/servers.ts";
import { realmDatabase } from "../support/database.ts";
import { attest } from "../support/installation.ts";
import { tamper } from "../support/tamper.ts";

Deno.test("an audit of many realms goes on behind one that is wrong and those of a server that is away, and ends with their names", async () => {
  await using server = await otherServer();
  await using its = await fixture(() => realmDatabase(4));
  const { host, url, realm } = its;
  await using first = await realm.neighbour();
  await using second = await realm.neighbour();
  await using last = await realm.neighbour();
  for (const away of [first, second]) await moveTo(away, await server.database());
  await withMoney(last);
  const whole = await host.run(url, "audit", [], server.env);
  equal(whole.code, 0, whole.said);
  match(whole.out, /\n4 realms: all sound\n$/);
  await tamper(last, "update accounts set total = total + 1 where total > 0");
  await server.stop();
  try {
    const env = { ...server.env, DATABASE_CONNECTIONS: "12" };
    const ended = await host.run(url, "audit", [], env);
    equal(ended.code, 1, ended.said);
    const lines = ended.out.trim().split("\n");
    const end = lines.slice(lines.findIndex((line) => line.startsWith("4 realms: ")));
    equal(end[0], "4 realms: 1 sound, 3 not:");
    deepEqual(end.slice(1).map((line) => /\(([0-9a-f-]{36})\): (.*)/.exec(line)!.slice(1, 2)), [
      ...[[first.id], [second.id], [last.id]],
    ]);
    for (const line of end.slice(1, 3)) match(line, /NOT AUDITED: .*ECONNREFUSED/);
    match(end[3], /links, FAILED: .*account\.total/);
    ok(lines.some((line) => line.includes(realm.id) && line.includes("sound, head")));
    const one = await host.run(url, "audit", ["--realm", realm.id], env);
    equal(one.code, 0, one.said);
  } finally {
    await server.start();
  }
});

Deno.test("a reconciliation of many realms reads the others where a server is away, and its last lines name the realm", async () => {
  await using server = await otherServer();
  await using its = await fixture();
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  await moveTo(away, await server.database());
  for (const one of [realm, away]) await attest(one);
  const env = { ...server.env, INSTALLATION_EPOCH: "1" };
  await server.stop();
  try {
    const ended = await host.run(url, "reconcile", [], env);
    equal(ended.code, 2, ended.said);
    const { realms } = JSON.parse(ended.out);
    deepEqual(realms.map((one: { realm: string }) => one.realm), [away.id]);
    const lines = ended.said.trim().split("\n").slice(-2);
    equal(lines[0], "realms that are not reconciled: 1");
    match(lines[1], new RegExp(`\\(${away.id}\\): FAILED: .*ECONNREFUSED`));
  } finally {
    await server.start();
  }
  const whole = await host.run(url, "reconcile", [], env);
  equal(whole.code, 0, whole.said);
  deepEqual(JSON.parse(whole.out).realms, []);
});
