import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { type Desk, openDesk, OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import * as nodes from "../support/nodes/misbehaving_node.ts";

const COIN = 10n ** 18n;

Deno.test("a node that counts 100 000 transactions of a ramp that made none is not believed: nothing is signed on it", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  rogue.trick = ({ method }) => method === "eth_getTransactionCount" ? "0x186a0" : undefined;
  const { body: { id } } = await desk.withdraw("1");
  await desk.look();
  const [{ state, nonce, error }] = await rowsOf<Record<string, string>>(
    desk.realm,
    "select state, nonce, error from orders",
  );
  deepEqual([state, nonce], ["new", null]);
  match(error, /counts 100000 transactions|is mined; no block shows it/);
  rogue.trick = () => undefined;
  equal((await desk.finish(id)).chain.nonce, 0);
  equal((await desk.finish((await desk.withdraw("1")).body.id)).chain.nonce, 1);
  deepEqual(await rowsOf(desk.realm, "select next from nonces"), [{ next: 2 }]);
  deepEqual(await fillsOf(desk), []);
  await agree(desk);
});

Deno.test("a nonce of which nothing was signed is taken by the next order, and costs nothing", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await planAll(desk);
  equal((await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  const { body: { id: next } } = await desk.withdraw("1");
  equal((await desk.finish(next)).chain.nonce, 0);
  deepEqual(await fillsOf(desk), []);
  equal(await heldBy(desk, OUTSIDE), COIN);
  await agree(desk);
});

Deno.test("gaps are filled five at a time, and only in front of an order that waits", async () => {
  await using desk = await openDesk({ coins: 20n * COIN, total: "20" });
  for (let one = 0; one < 8; one++) await desk.withdraw("1");
  await planAll(desk);
  // Whatever had them forget seven of eight: nobody will ever use these nonces.
  await rowsOf(desk.realm, "update orders set state = 'canceled' where nonce < 7");
  await rowsOf(desk.realm, "delete from claims where claim not like '%:7'");
  await desk.look();
  deepEqual(await fillsOf(desk), []);
  await rowsOf(desk.realm, "update orders set created_at = now() - interval '2 minutes'");
  await desk.look();
  deepEqual(await fillsOf(desk), [0, 1, 2, 3, 4]);
  const [{ id }] = await rowsOf<{ id: string }>(
    desk.realm,
    "select subject as id from orders where nonce = 7",
  );
  equal((await desk.finish(id)).status, "DONE");
  deepEqual(await fillsOf(desk), [0, 1, 2, 3, 4, 5, 6]);
  equal(await heldBy(desk, OUTSIDE), COIN);
});

Deno.test("a withdrawal that is DONE and whose block is reorganised away is sent again, not filled", async () => {
  await using desk = await openDesk({ depth: 2 });
  const { body: { id } } = await desk.withdraw("1");
  await desk.look();
  const fork = await desk.anvil.rpc<string>("evm_snapshot");
  equal((await desk.finish(id)).status, "DONE");
  equal(await heldBy(desk, OUTSIDE), COIN);
  ok(await desk.anvil.rpc("evm_revert", fork));
  await desk.anvil.rpc("anvil_dropAllTransactions");
  await desk.anvil.mine(4);
  equal(await heldBy(desk, OUTSIDE), 0n, "the chain has lost it");
  const { body: { id: next } } = await desk.withdraw("2");
  await desk.look();
  equal((await desk.read(next)).chain.nonce, 1);
  await rowsOf(desk.realm, "update orders set created_at = now() - interval '2 minutes'");
  equal((await desk.finish(next)).status, "DONE");
  equal(await heldBy(desk, OUTSIDE), 3n * COIN);
  deepEqual(await fillsOf(desk), []);
});

Deno.test("a slow withdrawal that the price has left behind is hastened when others wait behind it", async () => {
  await using desk = await openDesk();
  const slow = (await desk.withdraw("0.01", { fee: { speed: "slow" } })).body.id;
  await desk.look();
  const base = await baseFee(desk);
  const dear = async () => {
    await desk.anvil.rpc("anvil_setNextBlockBaseFeePerGas", `0x${(base * 5n / 2n).toString(16)}`);
    await desk.anvil.mine();
  };
  await dear();
  const fast = (await desk.withdraw("1", { fee: { speed: "fast" } })).body.id;
  await desk.look();
  await dear();
  await desk.look();
  equal((await desk.read(fast)).chain.block, null);
  equal((await madeFor(desk, slow)).length, 1, "it has not waited long enough");
  await age(desk, 10);
  for (let round = 0; round < 6; round++) {
    await desk.look();
    await dear();
  }
  equal((await madeFor(desk, slow)).length, 2);
  deepEqual([(await desk.read(slow)).status, (await desk.read(fast)).status], ["DONE", "DONE"]);
  equal(await heldBy(desk, OUTSIDE), COIN + COIN / 100n);
  await agree(desk);
});

Deno.test("what lingers at a price that is good enough is not replaced again and again", async () => {
  await using desk = await openDesk();
  const first = (await desk.withdraw("1", { fee: { speed: "fast" } })).body.id;
  await desk.look();
  await desk.withdraw("1");
  await desk.look();
  await age(desk, 10);
  for (let round = 0; round < 3; round++) await desk.look();
  equal((await madeFor(desk, first)).length, 1);
});

Deno.test("what no node takes is canceled by a replacement, and given back only when that is buried", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  let first: unknown = null;
  rogue.trick = ({ method, params }) => {
    if (method !== "eth_sendRawTransaction") return undefined;
    first ??= params[0];
    if (params[0] === first) throw new nodes.RogueError(-32000, "transaction type not supported");
    return undefined;
  };
  await desk.look();
  await desk.look();
  const behind = (await desk.withdraw("2")).body.id;
  await desk.look();
  equal((await madeFor(desk, id)).length, 1, "it is tried for a while");
  await rowsOf(desk.realm, "update orders set created_at = now() - interval '20 minutes'");
  await desk.look();
  await desk.look();
  await desk.anvil.mine();
  await desk.look();
  equal((await desk.read(id)).status, "PROCESSING");
  const failed = await desk.finish(id);
  equal(failed.status, "FAILED");
  equal((await desk.finish(behind)).status, "DONE");
  equal(await heldBy(desk, OUTSIDE), 2n * COIN);
  const paid = await desk.read(behind);
  const { account, fees } = await desk.books();
  equal(toUnits(account, 18), 8n * COIN - toUnits(chargeOf(paid), 18), "all of it is given back");
  ok(fees.startsWith("-"), "what it cost to cancel is the house's");
  deepEqual(await fillsOf(desk), []);
  await agree(desk);
});

Deno.test("an order that would fail now, and that others wait behind, is canceled by a replacement", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const trap = "0x00000000000000000000000000000000000b0b06";
  const slow =
    (await desk.withdraw("1", { destination: { address: trap }, fee: { speed: "slow" } }))
      .body.id;
  await desk.look();
  const base = await baseFee(desk);
  const dear = async () => {
    await desk.anvil.rpc("anvil_setNextBlockBaseFeePerGas", `0x${(base * 5n / 2n).toString(16)}`);
    await desk.anvil.mine();
  };
  await dear();
  await desk.anvil.rpc("anvil_setCode", trap, "0x60006000fd");
  const fast = (await desk.withdraw("1", { fee: { speed: "fast" } })).body.id;
  await desk.look();
  await age(desk, 20);
  for (let round = 0; round < 6; round++) {
    await desk.look();
    await dear();
  }
  deepEqual([(await desk.read(slow)).status, (await desk.read(fast)).status], ["FAILED", "DONE"]);
  deepEqual([await heldBy(desk, trap), await heldBy(desk, OUTSIDE)], [0n, COIN]);
  const { account } = await desk.books();
  const least = toUnits(chargeOf(await desk.read(fast)), 18);
  ok(toUnits(account, 18) < 9n * COIN - least, "who withdrew to what refuses bears its cost");
  await agree(desk);
});

/** A destination's code, asked of one node only. */
const TRAP = "0x00000000000000000000000000000000000b0b06";
const REFUSALS: Readonly<Record<string, nodes.Trick>> = {
  "refuses the destination": ({ method, params }) => {
    const [call] = params as [{ to?: string }];
    if (method === "eth_getCode") return "0x60006000fd";
    if (method !== "eth_estimateGas" || call.to?.toLowerCase() !== TRAP) return;
    throw new nodes.RogueError(3, "execution reverted");
  },
  "says that the sender holds nothing": ({ method }) =>
    method === "eth_getBalance" ? "0x0" : undefined,
};

Deno.test("a withdrawal that one of two nodes refuses by now is hastened as it stands, and keeps none behind it waiting", async (t) => {
  const { desk, rogue } = await rogueDesk({ beside: true });
  await using _rogue = rogue;
  await using _desk = desk;
  const paid = { slow: 0n, fast: 0n };
  for (const [name, trick] of Object.entries(REFUSALS)) {
    await t.step(`it ${name}`, async () => {
      rogue.trick = () => undefined;
      const [slow, fast] = await overtaken(desk, { to: TRAP, between: () => rogue.trick = trick });
      await rounds(desk, 25n);
      deepEqual([(await desk.read(slow)).status, (await desk.read(fast)).status], ["DONE", "DONE"]);
      equal((await madeFor(desk, slow)).length, 2);
      paid.slow += COIN;
      paid.fast += COIN;
      deepEqual([await heldBy(desk, TRAP), await heldBy(desk, OUTSIDE)], [paid.slow, paid.fast]);
      await agree(desk);
    });
  }
  const chain = await desk.context.chains.open({ chain: "ETHEREUM", testnet: false });
  const told = chain.reports().filter((one) => one.toLowerCase().includes(TRAP));
  equal(told.length, 1, "it is told once");
  match(told[0], /127\.0\.0\.1.* would not take a transaction of .* to .*, 127\.0\.0\.1.* would/);
});

Deno.test("a withdrawal that one of two nodes refuses by now, and that may not cost as much as is asked, is canceled for those behind it", async () => {
  const { desk, rogue } = await rogueDesk({ beside: true });
  await using _rogue = rogue;
  await using _desk = desk;
  const trick = REFUSALS["refuses the destination"];
  const times = 200n;
  const between = () => rogue.trick = trick;
  const [slow, fast] = await overtaken(desk, { to: TRAP, between, times });
  await rounds(desk, times);
  await canceledFor(desk, slow, fast);
  await agree(desk);
});

Deno.test("a withdrawal that can pay the price, and not the eighth more that replaces it, is canceled for those behind it", async () => {
  await using desk = await openDesk();
  const times = 29n;
  const [slow, fast] = await overtaken(desk, { to: TRAP, asSent: 16n, times });
  await rounds(desk, times);
  await canceledFor(desk, slow, fast);
});

Deno.test("a speed-up that one of two nodes refuses is made as it stands, and what was sent is followed to its end", async () => {
  const { desk, rogue } = await rogueDesk({ beside: true });
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1", { destination: { address: TRAP } });
  await desk.look();
  rogue.trick = REFUSALS["refuses the destination"];
  const asked = await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
    speed: "fast",
  });
  ok(asked.status < 300, asked.text);
  await desk.look();
  equal((await madeFor(desk, id)).length, 2);
  equal((await desk.finish(id)).status, "DONE");
  equal(await heldBy(desk, TRAP), COIN);
});

Deno.test("the database gives nonces one by one, and none twice", async () => {
  await using desk = await openDesk();
  await desk.withdraw("1");
  await desk.look();
  const step = /nonces_step|nonces of/;
  await rejects(rowsOf(desk.realm, "update nonces set next = 100000"), step);
  await rejects(rowsOf(desk.realm, "update nonces set next = 0"), step);
  await rejects(
    rowsOf(
      desk.realm,
      "insert into nonces (chain, network, address, next) values ('ETHEREUM', 'main', '0x1', 2)",
    ),
    step,
  );
});

/** A desk behind a node that may lie, alone or beside an honest one. */
async function rogueDesk(
  { beside = false, env = {} }: { beside?: boolean; env?: Record<string, string> } = {},
): Promise<{ desk: Desk; rogue: nodes.Rogue }> {
  const made: nodes.Rogue[] = [];
  const front = (url: string) => {
    made.push(nodes.startRogue(url));
    return beside ? `${made[0].url},${url}` : made[0].url;
  };
  return { desk: await openDesk({ front, env }), rogue: made[0] };
}

/** Has a slow withdrawal overtaken by the price, with another one behind it for a long time. */
async function overtaken(
  desk: Desk,
  { to, between = () => {}, asSent = 10n, times = 25n }: {
    to: string;
    between?: () => unknown;
    /** The price when it is sent, and later. */
    asSent?: bigint;
    times?: bigint;
  },
): Promise<[string, string]> {
  await raisePrice(desk, 10n);
  const slow = await desk.withdraw("1", { destination: { address: to }, fee: { speed: "slow" } });
  if (asSent !== 10n) await raisePrice(desk, asSent);
  await desk.look();
  await raisePrice(desk, times);
  const fast = await desk.withdraw("1", { fee: { speed: "fast" } });
  await desk.look();
  between();
  await age(desk, 20);
  return [slow.body.id, fast.body.id];
}

/** Has all that is open been made so many minutes ago. */
async function age(desk: Desk, minutes: number): Promise<void> {
  const long = `created_at = now() - interval '${minutes} minutes'`;
  await rowsOf(desk.realm, `update orders set ${long}`);
  await rowsOf(desk.realm, `update order_candidates set ${long}`);
}

async function rounds(desk: Desk, times: bigint): Promise<void> {
  for (let round = 0; round < 6; round++) {
    await desk.look();
    await raisePrice(desk, times);
  }
}

/** Demands that the first was canceled and the other paid. */
async function canceledFor(desk: Desk, slow: string, fast: string): Promise<void> {
  deepEqual([(await desk.read(slow)).status, (await desk.read(fast)).status], ["FAILED", "DONE"]);
  deepEqual([await heldBy(desk, TRAP), await heldBy(desk, OUTSIDE)], [0n, COIN]);
}

const LITTLE = 10n ** 8n;

/** Mines a block whose gas costs so many times a little, and has it quoted. */
async function raisePrice(desk: Desk, times: bigint): Promise<void> {
  await desk.anvil.rpc("anvil_setNextBlockBaseFeePerGas", `0x${(LITTLE * times).toString(16)}`);
  await desk.anvil.mine();
  // Prices are shared for a moment by whom the same context serves.
  const context = await workerContextOf(desk.realm);
  await refreshFees(context);
  context.chains.close();
}

/** Has every open order planned, and no further. */
async function planAll(desk: Desk): Promise<void> {
  const orders = await rowsOf<{ order: string; look: number }>(
    desk.realm,
    "select id as order, looks as look from orders where state = 'new' order by id",
  );
  for (const seen of orders) {
    await advanceOrder(desk.context, seen, (step) => {
      if (step === "planned") throw new Error("far enough");
    }).catch((error) => equal(error.message, "far enough"));
  }
}

async function fillsOf(desk: Desk): Promise<number[]> {
  const rows = await rowsOf<{ nonce: number }>(
    desk.realm,
    "select nonce from orders where purpose = 'fill' order by nonce",
  );
  return rows.map(({ nonce }) => nonce);
}

async function madeFor(desk: Desk, withdrawal: string): Promise<unknown[]> {
  return await rowsOf(
    desk.realm,
    `select c.attempt from order_candidates c join orders o on o.id = c.order_id
      where o.subject = $1`,
    [withdrawal],
  );
}

/** What a withdrawal's user is charged for its fee. */
function chargeOf(row: { fee: { value: number } }): string {
  return row.fee.value.toFixed(18);
}

async function baseFee(desk: Desk): Promise<bigint> {
  const block = await desk.anvil.rpc<{ baseFeePerGas: string }>(
    "eth_getBlockByNumber",
    "latest",
    false,
  );
  return BigInt(block.baseFeePerGas);
}

async function heldBy(desk: Desk, address: string): Promise<bigint> {
  return BigInt(await desk.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

/** What the ledger owes is what the ramp's address holds. */
async function agree(desk: Desk): Promise<void> {
  equal(await heldBy(desk, desk.address), -toUnits((await desk.books()).world, 18));
}
