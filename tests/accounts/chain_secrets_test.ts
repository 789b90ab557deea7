/** What the chain of hashes, which every user with scope realm reads, must not tell of addresses. */
import { equal, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";

Deno.test("the chain of hashes tells nobody the key of a ramp's addresses, nor those that are not given out", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const made = await realm.admin.send("POST", `/v1/account/${ramp.id}/address`, {});
  equal(made.status, 201, made.text);
  const given = made.body.address.address;
  await extendHashChain(realm.pool, Date.now);
  const [{ xpub }] = await rowsOf<{ xpub: string }>(realm, "select xpub from ramps");
  const reserved = await rowsOf<{ address: string }>(
    realm,
    `select address from reserved_addresses r
      where not exists (select from addresses a where a.address = r.address)`,
  );
  ok(xpub.length > 100 && reserved.length > 0);
  const reader = await realm.user({ role: "user", scope: "realm" });
  const [shown] = (await reader.send("GET", `/v1/account/${ramp.id}/address`)).body;
  equal(shown.xpub, null);
  let [text, last] = ["", 0];
  for (;;) {
    const page = await reader.send("GET", `/v1/transactions/chain?after=${last}`);
    equal(page.status, 200);
    if (page.body.length === 0) break;
    text += page.text;
    last = page.body.at(-1).seq;
  }
  ok(text.includes(given) && text.includes('"kind":"reserved_addresses"'), "it is all there");
  ok(!text.includes(xpub), "the key");
  ok(text.includes(createHash("sha256").update(xpub).digest("hex")), "what it was is proven");
  for (const { address } of reserved) ok(!text.includes(address), address);
});
