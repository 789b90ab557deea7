/** The ledger's own accounts: administrators of the realm alone see them, on whatever way. @module */
import { deepEqual, equal } from "node:assert/strict";
import { openEventReaders } from "../support/event_readers.ts";
import { testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const test = sharing("the ledger's own accounts");

test("whoever may not see an account of the ledger reads nothing of it on any route", async (realm) => {
  const { name } = await realm.currency("100");
  const query = encodeURIComponent(JSON.stringify({ type: "system", asset: name }));
  const [world] = (await realm.admin.send("GET", `/v1/accounts/all?scope=all&query=${query}`)).body;
  equal(world.balance.total, "-100");
  const reads = ["", "/entries", "/balance", "/balances", "/statement", "/blocks", "/address"];
  const paths = [...reads, "/assign", "/consolidations"];
  for (const [role, scope] of [["user", "realm"], ["manage", "realm"], ["admin", "own"]] as const) {
    const { send } = await realm.user({ role, scope });
    for (const path of paths) {
      const { status, body } = await send("GET", `/v1/accounts/${world.id}${path}`);
      deepEqual([status, body.code], [404, "account.not_found"], `${role},${scope} ${path}`);
    }
    const address = await send("POST", `/v1/accounts/${world.id}/address`, {});
    equal(address.status, 404, `${role},${scope}`);
  }
  for (const path of paths) {
    equal((await realm.admin.send("GET", `/v1/accounts/${world.id}${path}`)).status, 200, path);
  }
});

test("a transaction tells the balance of an account of the ledger to administrators of the realm alone", async (realm) => {
  const { name, account } = await realm.currency("100");
  const query = encodeURIComponent(JSON.stringify({ asset: name }));
  const list = `/v1/transactions/all?scope=all&query=${query}&populate=source.account`;
  const [issue] = (await realm.admin.send("GET", list)).body;
  deepEqual([issue.balances.source.total, issue.source.account.type], ["-100", "system"]);
  for (const role of ["user", "manage"] as const) {
    const { send } = await realm.user({ role, scope: "realm" });
    const one = `/v1/transactions/${issue.id}?populate=source.account`;
    for (const seen of [(await send("GET", list)).body[0], (await send("GET", one)).body]) {
      deepEqual([seen.balances.source, seen.balances.destination.total], [null, "100"], role);
      equal(seen.destination.account, account);
      equal(typeof seen.source.account, "string", role);
    }
  }
});

Deno.test("an event of a transaction tells the balance of an account of the ledger to administrators of the realm alone", async () => {
  await using realm = await testRealm(PRIVATE);
  await using worker = openTestDeliverer(realm);
  await using receiver = openReceiver();
  const readers = await openEventReaders(realm, {
    url: receiver.url,
    events: ["transaction.created"],
  });
  const told = { admin: "-100", manage: null, user: null, own: null };
  const list = "/v1/events/all?type=transaction.created";
  equal((await readers.own.send("GET", list)).status, 200, "from now on they are written");
  const made = await readers.own.send("POST", "/v1/currencies", { name: "OWN-C", supply: "100" });
  equal(made.status, 201, made.text);
  await worker.run();
  for (const [name, { send }] of Object.entries(readers)) {
    const [event] = (await send("GET", list)).body;
    const [heard] = receiver.received.filter(({ path }) => path === `/${name}`);
    const one = (await send("GET", `/v1/transactions/${event.entity}`)).body;
    for (const seen of [event.data, heard.body.data, one] as Seen[]) {
      const { source, destination } = seen.balances;
      deepEqual([source?.total ?? null, destination?.total], [told[name as "own"], "100"], name);
    }
  }
});

interface Seen {
  balances: { source: { total: string } | null; destination: { total: string } };
}
