/** The directory of own addresses: no realm links an address of another realm, or a skipped one. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { deriveAddress } from "../../domain/chains/derivation.ts";
import { attestRealm } from "../../workers/installation/attestation.ts";
import { shareAddresses } from "../../workers/installation/address_directory.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { reconcileRealm } from "../../workers/recovery/reconcile.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm, type TestUser } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

Deno.test("indices that a reconciliation passes over are linked by nobody", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const thief = await realm.user({ role: "user", scope: "own" });
  const account = await virtualOf(fixture, thief, ramp.id);
  const [linked, free] = [
    await derived(fixture, ramp.id, 900),
    await derived(fixture, ramp.id, 901),
  ];
  const link = async (address: string) =>
    (await thief.send("POST", `/v1/accounts/${account}/assign/${address}`)).status;
  equal(await link(linked), 200);
  await tamper(realm, `update ramps set quarantined = '{"detail": "restored", "at": 1}'`);
  await fixture.anvil.mine(3);
  const context = await workerContextOf(realm);
  const options = { gap: 1_000, back: 100, answer: () => Promise.resolve(null) };
  const [place] = await reconcileRealm(
    { ...context, actor: { ...context.actor, at: Date.now() } },
    options,
  );
  context.chains.close();
  deepEqual([place.lifted, place.obstacles], [true, []]);
  await realm.drain();
  deepEqual((await thief.send("GET", `/v1/accounts/${account}/assign`)).body, []);
  deepEqual([await link(linked), await link(free)], [409, 409]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("an address of another realm of the installation is linked by nobody, and a link made before ends", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const neighbour = await realm.neighbour();
  const made = async (asset: string) => {
    const body = { type: "virtual", asset, testnet: true };
    const answer = await neighbour.admin.send("POST", "/v1/accounts", body);
    await neighbour.drain();
    return answer.body.id;
  };
  const [account, other] = [await made("ETH"), await made("BSC")];
  const link = (address: string, of = account) =>
    neighbour.admin.send("POST", `/v1/accounts/${of}/assign/${address}`);
  const [given, reserved] = [await fixture.address(ramp.id), await derived(fixture, ramp.id, 7)];
  const stranger = "0x00000000000000000000000000000000DeaDBeef";
  // Nothing has told of them yet.
  for (const address of [given.address, reserved, stranger]) {
    equal((await link(address)).status, 200);
  }
  await share(realm);
  await share(neighbour);
  deepEqual((await neighbour.admin.send("GET", `/v1/accounts/${account}/assign`)).body, [
    { address: stranger, currency: "ETH" },
  ]);
  const refused = await link(reserved);
  deepEqual([refused.status, refused.body.code], [409, "address.assigned"]);
  // The answer is that for an address which somebody has linked: it does not tell whose it is.
  const again = await link(stranger);
  deepEqual([again.status, again.body.code, again.body.detail], [
    409,
    "address.assigned",
    refused.body.detail,
  ]);
  for (
    const written of [
      ramp.address,
      given.address.toLowerCase(),
      reserved.toLowerCase(),
    ]
  ) {
    equal((await link(written)).status, 409, written);
    equal((await link(written, other)).status, 409, written);
  }
  deepEqual((await checkLedger(neighbour.pool)).mismatches, []);
  const rows = await rowsOf(realm, "select 1 from reserved_addresses where not shared");
  deepEqual(rows, []);
});

Deno.test("no realm's role reads the directory of addresses, and it holds none in the clear", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  await share(realm);
  const { sql } = realm.database.platform;
  const [{ found, clear }] = await sql<{ found: number; clear: number }[]>`
    select count(*)::integer as found, (count(*) filter (where encode(digest, 'escape') like
      ${`%${ramp.address.slice(2, 20)}%`}))::integer as clear from own_addresses
    where realm = ${realm.id}`;
  equal(clear, 0);
  equal(found > 100, true);
  const [{ schema }] = await sql<{ schema: string }[]>`select current_schema() as schema`;
  await rejects(
    realm.command((tx) => tx.unsafe(`select 1 from "${schema}".own_addresses`)),
    /permission denied/,
  );
});

/** Has a realm's addresses told to the installation, and its links compared, as workers do. */
async function share(realm: TestRealm, atOnce?: number): Promise<void> {
  const context = await workerContextOf(realm);
  await shareAddresses(
    { ...context, actor: { ...context.actor, at: Date.now() } },
    realm.database.platform,
    atOnce,
  );
  context.chains.close();
}

/** A virtual account on a ramp, made for a user. */
async function virtualOf(fixture: RampFixture, user: TestUser, ramp: string): Promise<string> {
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", {
    ...{ type: "virtual", asset: "ETH", testnet: true, ramp },
    ...{ owner: user.id, holder: user.identity },
  });
  equal(made.status, 201, made.text);
  await fixture.realm.drain();
  return made.body.id;
}

async function derived(fixture: RampFixture, ramp: string, index: number): Promise<string> {
  const path = `/v1/accounts/${ramp}?populate=address`;
  const { xpub } = (await fixture.realm.admin.send("GET", path)).body.address;
  return await deriveAddress("ETHEREUM", "testnet", xpub, index);
}

Deno.test("of very many links each pass compares some, and in the end all of them were compared", async () => {
  await using fixture = await openRampFixture();
  const ramp = await fixture.ramp();
  const neighbour = await fixture.realm.neighbour();
  const context = await workerContextOf(neighbour);
  await attestRealm(context, neighbour.database.platform);
  context.chains.close();
  const body = { type: "virtual", asset: "ETH", testnet: true };
  const { body: { id } } = await neighbour.admin.send("POST", "/v1/accounts", body);
  await neighbour.drain();
  const strangers = [1, 4, 9, 12].map((at) => `0x${at.toString(16).repeat(40)}`);
  for (const address of [await derived(fixture, ramp.id, 7), ...strangers]) {
    const { status } = await neighbour.admin.send("POST", `/v1/accounts/${id}/assign/${address}`);
    equal(status, 200);
  }
  await share(fixture.realm);
  const links = async () =>
    (await neighbour.admin.send("GET", `/v1/accounts/${id}/assign`)).body.length;
  const at = () =>
    rowsOf<{ linked_after: string }>(neighbour, "select linked_after from attestations")
      .then(([row]) => row.linked_after);
  const places: string[] = [];
  for (let pass = 0; pass < 3; pass++) {
    await share(neighbour, 2);
    places.push(await at());
  }
  // Five links, two at a time: twice the next ones, then the rest.
  deepEqual(places.map((place) => place !== ""), [true, true, false]);
  equal(await links(), 4);
});
