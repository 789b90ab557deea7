import { deepEqual, equal } from "node:assert/strict";
import { checkSolvency } from "../../workers/solvency.ts";
import { type Desk, openDesk } from "../support/desk.ts";
import { rowsOf } from "../support/realm.ts";

const PATH = "/v1/solvency?asset=ETH";

Deno.test("assets and liabilities agree before, while and after a withdrawal is on its way", async () => {
  await using desk = await openDesk();
  equal((await compared(desk)).drift, "0");
  const { body: { id } } = await desk.withdraw("1");
  equal((await compared(desk)).solvent, true);
  await desk.look();
  equal((await compared(desk)).solvent, true);
  await desk.anvil.mine();
  const sending = await compared(desk); // mined, and nobody has looked yet
  equal(sending.solvent, true);
  await desk.finish(id);
  const after = await compared(desk);
  deepEqual([after.drift, after.sending, after.solvent], ["0", "0", true]);
  equal(after.ramps[0].ramp, desk.ramp);
});

Deno.test("what is missing stops withdrawals and raises an event, once; what is back frees them", async () => {
  await using desk = await openDesk();
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${(9n * 10n ** 18n).toString(16)}`);
  await desk.anvil.mine();
  const missing = await compared(desk);
  deepEqual([missing.drift, missing.solvent], ["-1", false]);
  await compared(desk);
  const refused = await desk.withdraw("1");
  deepEqual([refused.status, refused.body.code], [409, "asset.suspended"]);
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${(11n * 10n ** 18n).toString(16)}`);
  await desk.anvil.mine();
  const more = await compared(desk);
  deepEqual([more.drift, more.solvent], ["1", true]);
  equal((await desk.withdraw("1")).status, 201);
  const told = await rowsOf(desk.realm, "select 1 from events where type = 'solvency.drift'");
  equal(told.length, 2);
});

Deno.test("gas that moved nothing of the users' is borne by the fees, so that nothing drifts", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await desk.look((step) => {
    if (step === "stored") throw new Error("ended");
  }).catch(() => {});
  await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
  for (let round = 0; round < 4; round++) {
    await desk.look();
    await desk.anvil.mine();
  }
  const after = await compared(desk);
  deepEqual([after.drift, after.solvent, after.liabilities], ["0", true, "10"]);
  equal(after.fees.startsWith("-0.0000"), true);
});

Deno.test("GET /v1/solvency is for administrators of the realm", async () => {
  await using desk = await openDesk();
  const user = await desk.realm.user({ scope: "realm" });
  equal((await user.send("GET", PATH)).body.code, "permission.role");
});

/** Has the asset compared at the head, as a scanner that has come so far would let it. */
async function compared(desk: Desk) {
  const head = parseInt(await desk.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(desk.realm, "update chain_cursors set height = $1, head = $1", [head]);
  const actor = { ...desk.bench.actor, at: Date.now() };
  await checkSolvency({ ...desk.bench, actor });
  const { body } = await desk.realm.admin.send("GET", PATH);
  return body[0];
}
