/** The ledger's own accounts: administrators of the realm alone see them, on whatever way. @module */
import { deepEqual, equal } from "node:assert/strict";
import { testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { openTestDeliverer } from "../support/webhook_receiver.ts";

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

Deno.test("events of transactions tell nobody the balance of an account of the ledger", async () => {
  await using realm = await testRealm();
  await using worker = openTestDeliverer(realm);
  const reader = await realm.user({ role: "manage", scope: "realm" });
  const list = "/v1/events/all?type=transaction.created";
  deepEqual((await reader.send("GET", list)).body, [], "from now on they are written");
  await realm.currency("100");
  await worker.run();
  const events = (await reader.send("GET", list)).body;
  deepEqual(
    events.map(({ data }: { data: Seen }) => [
      data.type,
      data.balances.source,
      data.balances.destination.total,
    ]),
    [["issue", null, "100"]],
  );
});

interface Seen {
  type: string;
  balances: { source: unknown; destination: { total: string } };
}
