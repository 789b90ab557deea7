import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { counterparty } from "../../domain/ledger/posting.ts";
import { toUnits } from "../../domain/money.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { credit, type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const PATH = "/v1/solvency/write-off";
const BODY = { asset: "ETH", reason: "paid in a reorganisation" };

Deno.test("what is missing on the chain is written off once, and withdrawals go on when the house has covered it", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const { send } = realm.admin;
  await change(funded, "-1");
  equal((await compared(funded)).drift, "-1");
  equal((await funded.withdraw("0.1")).body.code, "asset.suspended");
  deepEqual(codeOf(await send("POST", PATH, BODY)), [409, "condition.failed"]); // an hour is not over
  await anHourLater(funded);
  const customers = await othersOf(funded);
  const tried = await send("POST", `${PATH}?dry_run=true`, BODY);
  deepEqual([tried.status, tried.body.amount, tried.body.missing, tried.body.loss], [
    201,
    "1",
    "0",
    "1",
  ]);
  equal((await compared(funded)).drift, "-1");
  const key = { "idempotency-key": "written-off" };
  const some = await send("POST", PATH, { ...BODY, amount: "0.4" }, key);
  deepEqual([some.status, some.body.amount, some.body.missing], [201, "0.4", "0.6"], some.text);
  const again = await send("POST", PATH, { ...BODY, amount: "0.4" }, key);
  deepEqual([again.body, again.headers.get("idempotency-replayed")], [some.body, "true"]);
  // No comparison has counted the first yet.
  const rivals = [1, 2, 3].map(() => send("POST", PATH, { ...BODY, amount: "0.5" }));
  const answers = await Promise.all(rivals);
  deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409]);
  equal((await compared(funded)).drift, "-0.1");
  for (const sql of await forgeries(funded, "0.2")) {
    await rejects(inject(funded, sql), REFUSED, sql);
  }
  const rest = await realm.operator("POST", PATH, { ...BODY, realm: realm.id });
  deepEqual([rest.status, rest.body.amount, rest.body.loss], [201, "0.1", "1"], rest.text);
  deepEqual(codeOf(await send("POST", PATH, BODY)), [409, "condition.failed"]);
  const after = await compared(funded);
  deepEqual([after.drift, after.fees, after.solvent, after.liabilities], ["0", "-1", false, "10"]);
  deepEqual(codeOf(await send("POST", PATH, BODY)), [409, "condition.failed"]);
  for (const sql of await forgeries(funded, "0.1")) {
    await rejects(inject(funded, sql), REFUSED, sql);
  }
  deepEqual(await othersOf(funded), customers);
  // It is a loss like any other from then on.
  equal((await funded.withdraw("0.1")).body.code, "asset.suspended");
  await credit(realm, funded.ramp, "1");
  await change(funded, "1");
  const cover = { account: funded.ramp, reason: "paid in" };
  equal((await send("POST", "/v1/solvency/cover", cover)).status, 201);
  const covered = await compared(funded);
  deepEqual([covered.drift, covered.fees, covered.solvent], ["0", "0", true]);
  equal((await funded.withdraw("0.1")).status, 201);
  await assertListed(funded, some.body.transaction);
  const trail = "select 1 from audit where action = 'POST /v1/solvency/write-off'";
  equal((await rowsOf(realm, trail)).length, 3);
  const { mismatches } = await checkLedger(realm.pool);
  // The funded's deposits are postings alone.
  deepEqual(mismatches.filter(({ code }) => code !== "deposit.transaction"), []);
});

Deno.test("nothing is written off on the word of a moment, of an old comparison, in quarantine, under a stop, or by others", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const { send } = realm.admin;
  const written = async (more: object = {}, by = send) =>
    codeOf(await by("POST", PATH, { ...BODY, ...more }));
  deepEqual(await written(), [409, "condition.failed"]); // never compared
  await change(funded, "-2");
  await compared(funded);
  await anHourLater(funded);
  // Half of it was there once in that hour.
  await change(funded, "1");
  await compared(funded);
  await change(funded, "-1");
  equal((await compared(funded)).drift, "-2");
  const refused = [409, "condition.failed"];
  deepEqual(await written({ amount: "1.000000000000000001" }), refused);
  deepEqual(await written({ testnet: true }), refused);
  deepEqual(await written({ asset: "GOLD" }), refused);
  deepEqual(await written({ amount: "0" }), [400, "request.invalid"]);
  deepEqual(await written({ amount: "0.0000000000000000001" }), [400, "request.invalid"]);
  const customer = await realm.user({ role: "user", scope: "realm" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const local = await realm.user({ role: "admin", scope: "own" });
  deepEqual(await written({}, customer.send), [403, "permission.role"]);
  deepEqual(await written({}, manager.send), [403, "permission.role"]);
  deepEqual(await written({}, local.send), [403, "permission.scope"]);
  deepEqual(await written({}, realm.operator), [400, "request.invalid"]);
  equal((await written({}, realm.nobody))[0], 401);
  const stop = { what: "moves", asset: "ETH", reason: "look first" };
  const { body: { id } } = await send("POST", "/v1/stops", stop);
  deepEqual(await written(), [409, "stop.active"]);
  equal((await send("DELETE", `/v1/stops/${id}`)).status, 200);
  await assertRefusedDuring(funded);
  deepEqual(await rowsOf(realm, "select 1 from write_offs"), []);
  // What was there once in the hour may have been a lie: the other half is written off alone.
  const half = await send("POST", PATH, BODY);
  deepEqual([half.status, half.body.amount, half.body.missing], [201, "1", "0"], half.text);
  equal((await compared(funded)).drift, "-1");
  deepEqual(await written(), refused);
  // It comes back: nobody is owed it, and a later loss is still seen.
  await change(funded, "2");
  const back = await compared(funded);
  deepEqual([back.drift, back.fees, back.solvent], ["1", "-1", true]);
  equal((await funded.withdraw("0.1")).status, 201);
  await change(funded, "-0.5");
  const later = await compared(funded);
  deepEqual([later.drift, later.solvent], ["0.5", false]);
  equal((await funded.withdraw("0.1")).body.code, "asset.suspended");
});

/** The database's refusals of a write-off, whoever asks. */
const REFUSED = /more out of the books than is missing|does not say|permission denied/;

function codeOf({ status, body }: { status: number; body: { code: string } }) {
  return [status, body.code];
}

/** What was written off is listed, with its reason and its comparison, and is not reverted. */
async function assertListed({ realm }: FundedRamp, first: string): Promise<void> {
  const { send } = realm.admin;
  const query = encodeURIComponent('{"seal.writes_off": "missing"}');
  const { body: listed } = await send(
    "GET",
    `/v1/transactions/all?scope=all&query=${query}&sort=id`,
  );
  deepEqual(listed.map(({ amount }: { amount: string }) => amount), ["0.4", "0.5", "0.1"]);
  const [shown] = listed;
  equal(shown.id, first);
  const { position, ...seal } = shown.seal;
  deepEqual([shown.type, seal.writes_off, seal.drift, seal.reason], [
    "fee",
    "missing",
    "-1",
    BODY.reason,
  ]);
  ok(position < shown.id);
  ok((await send("POST", `/v1/transactions/${shown.id}/revert`, {})).status >= 400);
}

/** Nothing is written off in a quarantine or a halt, by a comparison of one, or by one that is old or of the future. */
async function assertRefusedDuring(funded: FundedRamp): Promise<void> {
  const { realm } = funded;
  const during = async (begin: string, end: string, code: string) => {
    await rowsOf(realm, begin);
    deepEqual(codeOf(await realm.admin.send("POST", PATH, BODY)), [503, code]);
    for (const sql of await forgeries(funded, "1")) {
      await rejects(inject(funded, sql), REFUSED, sql);
    }
    if (end !== "") await rowsOf(realm, end);
  };
  for (
    const [begin, end] of [
      [
        `update ramps set quarantined = '{"detail": "a restore", "at": 1}'`,
        "update ramps set quarantined = null",
      ],
      [
        `update chain_cursors set halted = '{"detail": "another chain", "at": 1}'`,
        "update chain_cursors set halted = null",
      ],
    ]
  ) {
    await during(begin, end, "chain.quarantined");
    await rowsOf(realm, begin);
    await compared(funded);
    // What is booked at the end of it is not in the last comparison.
    await during(end, "", "chain.quarantined");
    await compared(funded);
  }
  const moved = (by: string) =>
    `update solvency set checked_at = checked_at ${by} interval '6 min'`;
  await during(moved("-"), moved("+"), "chain.stale");
  await during(moved("+"), moved("-"), "chain.stale"); // of a clock that is wrong
}

/** Statements by which the login that serves requests would write off an amount. */
async function forgeries({ realm, context }: FundedRamp, amount: string): Promise<string[]> {
  const eth = { code: "ETH", decimals: 18, testnet: false };
  await context.step((tx) => counterparty(tx, context.actor, "fees", eth), { lockLedger: true });
  const system = await rowsOf<{ id: string; system: string }>(
    realm,
    "select id, system from accounts where type = 'system' and asset = 'ETH' order by id",
  );
  const at = (name: string) => system.findIndex((one) => one.system === name) + 1;
  const [{ seal }] = await rowsOf<{ seal: string }>(
    realm,
    `select jsonb_build_object('writes_off', 'missing', 'drift', trim_scale(drift)::text, 'height', height,
      'position', position, 'reason', 'forged')::text as seal from missing_of('ETH', false)`,
  );
  const posted = (amount: string, seal: string) =>
    `select * from ledger_post('fee', true, null, null,
      array['${system.map(({ id }) => id).join("','")}']::uuid[], array[${at("fees")}], array[${
      at("world")
    }],
      array[${amount}]::numeric[], array[null]::uuid[], array[true], array[null]::inet[], array[null]::uuid[],
      array['${seal}']::jsonb[], array[null]::jsonb[], array[null]::text[], array[null]::jsonb[])`;
  return [
    posted(amount, seal),
    posted("0.000000000000000001", '{"writes_off": "missing"}'),
    `insert into write_offs default values`,
    `update solvency set drift = -1000`,
    `delete from solvency_samples`,
  ];
}

/** Runs a statement with the rights of the API, as the ledger posts. */
async function inject({ realm }: FundedRamp, text: string): Promise<void> {
  const serving = realm.database.realm(locationOf(realm.made.realm));
  await serializable(serving, async (tx) => await tx.unsafe(text).simple(), { lockLedger: true });
}

/** Balances of all accounts but those of the system. */
async function othersOf({ realm }: FundedRamp) {
  return await rowsOf(realm, "select id, total from accounts where type <> 'system' order by id");
}

async function change(funded: FundedRamp, amount: string): Promise<void> {
  const held = BigInt(await funded.anvil.rpc<string>("eth_getBalance", funded.address, "latest"));
  const wei = amount.startsWith("-") ? -toUnits(amount.slice(1), 18) : toUnits(amount, 18);
  await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${(held + wei).toString(16)}`);
  await funded.anvil.mine();
}

/** Has the asset compared as of an hour before, and anew. */
async function anHourLater(funded: FundedRamp): Promise<void> {
  await compared(funded, Date.now() - 3_600_000);
  await compared(funded);
}

/** Has the asset compared at the head, as a scanner that has come so far would let it. */
async function compared(funded: FundedRamp, at = Date.now()) {
  const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(funded.realm, "update chain_cursors set height = $1, head = $1", [head]);
  await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at } });
  const { body } = await funded.realm.admin.send("GET", "/v1/solvency?asset=ETH");
  return body[0];
}
