/** Withdrawals of TRX and USDT on Tron, from a deposit to the end, over the test's node. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { Checkpoint } from "../../workers/sending/order_work.ts";
import { parseTransaction } from "../support/nodes/tron/messages.ts";
import type { TronSurface, TronTrick } from "../support/nodes/tron/surface.ts";
import { newTronParty, richTron, toBase58, toHex } from "../support/nodes/tron/wallet.ts";
import { rowsOf } from "../support/realm.ts";
import { SOON } from "../support/own_token.ts";
import { openTronRamp, type TronRamp } from "../support/tron_fixture.ts";

const USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
/** Blocks after which the longest validity is over; they are three seconds apart. */
const BEYOND = 42;

/** Before a plan, before its bytes, before and after they leave, and before the end is booked. */
const STOPS: readonly Checkpoint[] = ["drafted", "signed", "sending", "seen", "ending"];

/** First bytes of `addBlackList(address)` and of `removeBlackList(address)`. */
const [BLOCK, UNBLOCK] = ["0ecb93c0", "e4997dc5"];

/** A stop of the process. */
class Stop extends Error {
  override readonly name = "Stop";
}

async function sunOf({ node }: TronRamp, address: string): Promise<bigint> {
  const body = JSON.stringify({ address: toHex(address) });
  const answer = await fetch(`${node.url}/wallet/getaccount`, { method: "POST", body });
  return BigInt((await answer.json()).balance ?? 0);
}

async function tokenOf({ node }: TronRamp, token: string, address: string): Promise<bigint> {
  const data = "70a08231" + toHex(address).slice(2).padStart(64, "0");
  const call = { owner_address: richTron().hex, contract_address: toHex(token), data };
  const answer = await fetch(`${node.url}/wallet/triggerconstantcontract`, {
    method: "POST",
    body: JSON.stringify(call),
  });
  return BigInt(`0x${(await answer.json()).constant_result[0]}`);
}

/** Lets the issuer of USDT call a method that takes an address, in a block. */
async function ownerCalls({ node }: TronRamp, method: string, address: string): Promise<void> {
  await node.trigger(USDT, method + toHex(address).slice(2).padStart(64, "0"));
  await node.mine();
}

/** The id of signed bytes as they travel. */
function idOf(bytes: unknown): string {
  return parseTransaction(String(bytes)).id;
}

const attemptsOf = ({ realm }: TronRamp) =>
  rowsOf<{ hash: string; proof: string | null }>(
    realm,
    `select c.hash, c.proof from order_attempts c join chain_orders o on o.id = c.order_id
      where o.purpose = 'withdrawal' order by c.created_at, c.attempt`,
  );

/** Plays through scenes on one ramp, one after the other; then chain and ledger must agree. */
async function play(
  t: Deno.TestContext,
  ramped: TronRamp,
  scenes: Readonly<Record<string, (ramped: TronRamp) => Promise<void>>>,
): Promise<void> {
  for (const [name, scene] of Object.entries(scenes)) {
    await t.step(name, () => scene(ramped));
  }
  await ramped.agree();
}

Deno.test("TRX on Tron, from a deposit to withdrawals", async (t) => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  await play(t, ramped, {
    "a new account is paid: DONE in a final block, its activation is charged": newAccount,
    "a process that stops at any point of an order pays it once": stops,
    "bytes that a node swallows are signed anew only after their expiry is proven": swallowed,
    "the ramp's own address, other chains and forms, a memo and too little are refused at once":
      badInput,
    "a contract as receiver is refused before anything is signed": contractReceiver,
    "an own token is deployed, registered and withdrawn": ownToken,
  });
});

async function newAccount(ramped: TronRamp): Promise<void> {
  const to = newTronParty();
  const made = await ramped.withdraw(to.address, "10");
  equal(made.status, 201, made.text);
  match(made.text, /"value":1\.1\b/);
  const done = await ramped.ended(made.body.id);
  deepEqual([done.status, done.error], ["DONE", null], JSON.stringify(done));
  equal(await sunOf(ramped, to.address), 10_000_000n);
  match(done.chain.explorer_url, /tronscan\.org/);
}

async function stops(ramped: TronRamp): Promise<void> {
  const to = newTronParty();
  const hashes = new Set<string>();
  for (const checkpoint of STOPS) {
    const made = await ramped.withdraw(to.address, "1");
    equal(made.status, 201, made.text);
    const stopped = async () => {
      for (let round = 0; round < 8; round++) {
        await ramped.advance((at) => {
          if (at === checkpoint) throw new Stop();
        });
        await ramped.node.mine();
      }
    };
    await rejects(stopped, Stop, checkpoint);
    const done = await ramped.ended(made.body.id);
    equal(done.status, "DONE", JSON.stringify(done));
    hashes.add(done.chain.hash);
  }
  equal(hashes.size, STOPS.length);
  equal(await sunOf(ramped, to.address), 1_000_000n * BigInt(STOPS.length));
}

async function swallowed(ramped: TronRamp): Promise<void> {
  const { node } = ramped;
  const before = await attemptsOf(ramped);
  const to = newTronParty();
  const made = await ramped.withdraw(to.address, "3");
  node.trick = ({ path, body }) =>
    path.endsWith("broadcasthex") ? { result: true, txid: idOf(body.transaction) } : undefined;
  for (let round = 0; round < 3; round++) {
    await ramped.advance();
    await node.mine();
  }
  equal((await attemptsOf(ramped)).length, before.length + 1);
  await node.mine(BEYOND);
  await ramped.follow();
  node.trick = () => undefined;
  const done = await ramped.ended(made.body.id);
  equal(done.status, "DONE", JSON.stringify(done));
  const attempts = (await attemptsOf(ramped)).slice(before.length);
  deepEqual(attempts.map(({ proof }) => proof), ["expired", null]);
  notEqual(attempts[0].hash, attempts[1].hash);
  equal(done.chain.hash, attempts[1].hash);
  equal(await sunOf(ramped, to.address), 3_000_000n);
}

async function badInput(ramped: TronRamp): Promise<void> {
  const { length } = await attemptsOf(ramped);
  const refusals = [
    [ramped.address, "1", 422, /own address/],
    [richTron(1).hex, "1", 422, /hexadecimal/],
    ["0x00000000000000000000000000000000DeaDBeef", "1", 422, /Ethereum/],
    ["4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T", "1", 422, /form of Solana's/],
    ["1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "1", 422, /of another chain/],
    ["TJRabPrwbZy45sbavfcjinPJC18kjpRTv9", "1", 422, /the checksum is wrong/],
    [USDT, "1", 422, /contract of USDT_TRON/],
    [richTron(1).address, "0", 400, /value/],
    [richTron(1).address, "0.0000001", 400, /value/],
  ] as const;
  for (const [to, value, status, why] of refusals) {
    const answer = await ramped.withdraw(to, value);
    equal(answer.status, status, answer.text);
    equal(answer.body.code, status === 422 ? "address.invalid" : "request.invalid");
    match(answer.text, why);
  }
  const { address } = richTron(1);
  for (const memo of [{ memo: "7" }, { destination: { address, memo: "7" } }]) {
    const answer = await ramped.withdraw(address, "1", memo);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"]);
    match(JSON.stringify(answer.body.errors), /memo/);
  }
  equal((await attemptsOf(ramped)).length, length);
}

async function contractReceiver(ramped: TronRamp): Promise<void> {
  const contract = toBase58(await ramped.node.deploy("Tether"));
  const made = await ramped.withdraw(contract, "1");
  const failed = await ramped.ended(made.body.id);
  equal(failed.status, "FAILED");
  match(failed.error.detail, /is a contract/);
  equal(failed.chain, undefined);
}

async function ownToken(ramped: TronRamp): Promise<void> {
  const { node, realm, ramp } = ramped;
  const { send } = realm.admin;
  await node.pay(ramped.address, 300_000_000n);
  await ramped.until(async () => (await ramped.account(ramp)).balance.total === "300");
  const body = { name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6, account: ramp };
  const made = await send("POST", "/v1/fungible/token/deploy", body, SOON);
  equal(made.status, 201, made.text);
  const path = `/v1/fungible/token/${made.body.id}`;
  await ramped.until(async () => (await send("GET", path)).body.status === "deployed");
  const registered = await send(
    "POST",
    "/v1/fungible/token/register",
    { account: ramp, symbol: "GOLD" },
    SOON,
  );
  equal(registered.status, 201, registered.text);
  const { virtualCurrency, contractAddress } = (await send("GET", path)).body;
  match(contractAddress, /^T\w{33}$/);
  const { account } = (await send("GET", `/v1/currencies/${virtualCurrency}`)).body;
  await node.mine();
  await ramped.follow();
  await ramped.refreshFees();
  const to = newTronParty();
  const drawn = await send("POST", "/v1/withdrawals", {
    source: { account },
    destination: { address: to.address },
    value: "2.5",
  });
  equal(drawn.status, 201, drawn.text);
  const done = await ramped.ended(drawn.body.id);
  equal(done.status, "DONE", JSON.stringify(done));
  equal(await tokenOf(ramped, contractAddress, to.address), 2_500_000n);
}

/** What one node of three says of our transactions. */
const LIES: Readonly<Record<string, TronTrick>> = {
  "knows nothing of it, and passes no bytes on": ({ path, body }) =>
    path.endsWith("broadcasthex")
      ? { result: true, txid: idOf(body.transaction) }
      : OF_ONE.test(path)
      ? {}
      : undefined,
  "says that it failed": async ({ path, honest }) => {
    if (!OF_ONE.test(path)) return undefined;
    const told = await honest() as Record<string, unknown>;
    return {
      ...told,
      ...told.receipt === undefined ? {} : { result: "FAILED", receipt: { result: "REVERT" } },
      ...told.ret === undefined ? {} : { ret: [{ contractRet: "REVERT" }] },
    };
  },
  "says that it failed in another block": async ({ path, honest }) => {
    if (!OF_ONE.test(path)) return undefined;
    const told = await honest() as Record<string, unknown>;
    return told.blockNumber === undefined ? told : { ...told, blockNumber: 1, result: "FAILED" };
  },
};
const OF_ONE = /gettransaction(info)?byid$/;

Deno.test("one Tron node of three that lies about a withdrawal neither ends it nor has it paid twice", async (t) => {
  let lying: TronSurface | null = null;
  await using ramped = await openTronRamp({
    nodes: (node) => {
      lying = node.peer();
      return [lying.url, node.url, node.peer().url];
    },
    env: { TRON_QUORUM: "2" },
  });
  for (const [lie, trick] of Object.entries(LIES)) {
    await t.step(`it ${lie}`, async () => {
      const to = newTronParty();
      const { length } = await attemptsOf(ramped);
      lying!.trick = trick;
      const made = await ramped.withdraw(to.address, "5");
      equal(made.status, 201, made.text);
      const done = await ramped.ended(made.body.id);
      lying!.trick = () => undefined;
      deepEqual([done.status, done.error], ["DONE", null], JSON.stringify(done));
      equal(await sunOf(ramped, to.address), 5_000_000n);
      equal((await attemptsOf(ramped)).length, length + 1);
    });
  }
  await ramped.agree();
});

Deno.test("USDT on Tron, from a deposit to withdrawals", async (t) => {
  await using ramped = await openTronRamp({ asset: "USDT_TRON" });
  await play(t, ramped, {
    "it is paid although transfer() answers false, and the ramp burns TRX for it": tokenPaid,
    "a transfer that fails in its block gives the value back, and the TRX burnt is the ramp's":
      tokenFailed,
    "addresses that the issuer blocked are named, and nothing is signed": tokenBlocked,
  });
});

async function tokenPaid(ramped: TronRamp): Promise<void> {
  const to = newTronParty();
  const gas = await sunOf(ramped, ramped.address);
  const made = await ramped.withdraw(to.address, "10");
  equal(made.status, 201, made.text);
  const done = await ramped.ended(made.body.id);
  deepEqual([done.status, done.error], ["DONE", null], JSON.stringify(done));
  equal(await tokenOf(ramped, USDT, to.address), 10_000_000n);
  ok(await sunOf(ramped, ramped.address) < gas);
}

async function tokenFailed(ramped: TronRamp): Promise<void> {
  const { node, realm } = ramped;
  const { balance } = await ramped.account(ramped.virtual);
  const made = await ramped.withdraw(richTron(1).address, "5");
  await realm.drain(); // sent, and not mined yet
  // The issuer blocks the ramp in a block before the payment's.
  const [sent] = node.ledger.pool.splice(0);
  await ownerCalls(ramped, BLOCK, ramped.address);
  node.ledger.pool.push(sent);
  const gas = await sunOf(ramped, ramped.address);
  const failed = await ramped.ended(made.body.id);
  equal(failed.status, "FAILED", JSON.stringify(failed));
  match(failed.error.detail, /moved nothing/);
  ok(await sunOf(ramped, ramped.address) < gas);
  deepEqual((await ramped.account(ramped.virtual)).balance, balance);
  await ownerCalls(ramped, UNBLOCK, ramped.address);
}

async function tokenBlocked(ramped: TronRamp): Promise<void> {
  const to = newTronParty();
  await ownerCalls(ramped, BLOCK, to.address);
  const { length } = await attemptsOf(ramped);
  const made = await ramped.withdraw(to.address, "5");
  const failed = await ramped.ended(made.body.id);
  equal(failed.status, "FAILED");
  match(failed.error.detail, new RegExp(`${to.address} is blocked by the token`));
  equal((await attemptsOf(ramped)).length, length);
}
