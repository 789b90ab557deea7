/** Withdrawals of TRX and USDT on Tron, from a deposit to the end, over the test's node. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { Checkpoint } from "../../workers/sending/order_work.ts";
import { parseTransaction } from "../support/nodes/tron/messages.ts";
import { newTronParty, richTron, toBase58, toHex } from "../support/nodes/tron/wallet.ts";
import { rowsOf } from "../support/realm.ts";
import { openTronRamp, type TronRamp } from "../support/tron_fixture.ts";

const USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
/** Blocks after which the longest validity is over; they are three seconds apart. */
const BEYOND = 42;

/** Before a plan, before its bytes, before and after they leave, and before the end is booked. */
const STOPS: readonly Checkpoint[] = ["drafted", "signed", "sending", "seen", "ending"];

/** A stop of the process. */
class Stop extends Error {
  override readonly name = "Stop";
}

async function sunOf({ node }: TronRamp, address: string): Promise<bigint> {
  const body = JSON.stringify({ address: toHex(address) });
  const answer = await fetch(`${node.url}/wallet/getaccount`, { method: "POST", body });
  return BigInt((await answer.json()).balance ?? 0);
}

async function usdtOf({ node }: TronRamp, address: string): Promise<bigint> {
  const data = "70a08231" + toHex(address).slice(2).padStart(64, "0");
  const call = { owner_address: richTron().hex, contract_address: toHex(USDT), data };
  const answer = await fetch(`${node.url}/wallet/triggerconstantcontract`, {
    method: "POST",
    body: JSON.stringify(call),
  });
  return BigInt(`0x${(await answer.json()).constant_result[0]}`);
}

async function usdtOwner({ node }: TronRamp, method: string, address: string): Promise<void> {
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

Deno.test("TRX on Tron, from a deposit to withdrawals", async (t) => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const { node } = ramped;

  await t.step(
    "a new account is paid: DONE in a final block, its activation is charged",
    async () => {
      const to = newTronParty();
      const made = await ramped.withdraw(to.address, "10");
      equal(made.status, 201, made.text);
      match(made.text, /"value":1\.1\b/);
      const done = await ramped.ended(made.body.id);
      deepEqual([done.status, done.error], ["DONE", null], JSON.stringify(done));
      equal(await sunOf(ramped, to.address), 10_000_000n);
      match(done.chain.explorer_url, /tronscan\.org/);
      await ramped.agree();
    },
  );

  await t.step("a process that stops at any point of an order pays it once", async () => {
    const to = newTronParty();
    const hashes = new Set<string>();
    for (const checkpoint of STOPS) {
      const made = await ramped.withdraw(to.address, "1");
      equal(made.status, 201, made.text);
      const stop = (at: string) => {
        if (at === checkpoint) throw new Stop();
      };
      await rejects(
        async () => {
          for (let round = 0; round < 8; round++) {
            await ramped.advance(stop);
            await node.mine();
          }
        },
        Stop,
        checkpoint,
      );
      const done = await ramped.ended(made.body.id);
      equal(done.status, "DONE", JSON.stringify(done));
      hashes.add(done.chain.hash);
    }
    equal(hashes.size, STOPS.length);
    equal(await sunOf(ramped, to.address), 1_000_000n * BigInt(STOPS.length));
    await ramped.agree();
  });

  await t.step(
    "bytes that a node swallows are signed anew only after their expiry is proven",
    async () => {
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
      await ramped.agree();
    },
  );

  await t.step(
    "the ramp's own address, other forms and too little are refused at once",
    async () => {
      const [{ length }] = [await attemptsOf(ramped)];
      const refusals = [
        [ramped.address, "1", 422, /own address/],
        [richTron(1).hex, "1", 422, /hexadecimal/],
        ["0x00000000000000000000000000000000DeaDBeef", "1", 422, /Ethereum/],
        [USDT, "1", 422, /contract of USDT_TRON/],
        [richTron(1).address, "0", 400, /value/],
        [richTron(1).address, "0.0000001", 400, /value/],
      ] as const;
      for (const [to, value, status, why] of refusals) {
        const answer = await ramped.withdraw(to, value);
        equal(answer.status, status, answer.text);
        match(answer.text, why);
      }
      equal((await attemptsOf(ramped)).length, length);
    },
  );

  await t.step("a contract as receiver is refused before anything is signed", async () => {
    const contract = toBase58(await node.deploy("Tether"));
    const made = await ramped.withdraw(contract, "1");
    const failed = await ramped.ended(made.body.id);
    equal(failed.status, "FAILED");
    match(failed.error.detail, /is a contract/);
    equal(failed.chain, undefined);
    await ramped.agree();
  });
});

Deno.test("USDT on Tron, from a deposit to withdrawals", async (t) => {
  await using ramped = await openTronRamp({ asset: "USDT_TRON" });
  const { node, realm } = ramped;

  await t.step(
    "it is paid although transfer() answers false, and the ramp burns TRX for it",
    async () => {
      const to = newTronParty();
      const gas = await sunOf(ramped, ramped.address);
      const made = await ramped.withdraw(to.address, "10");
      equal(made.status, 201, made.text);
      const done = await ramped.ended(made.body.id);
      deepEqual([done.status, done.error], ["DONE", null], JSON.stringify(done));
      equal(await usdtOf(ramped, to.address), 10_000_000n);
      ok(await sunOf(ramped, ramped.address) < gas);
      await ramped.agree();
    },
  );

  await t.step(
    "a transfer that fails in its block gives the value back, less nothing but the TRX burnt",
    async () => {
      const { balance } = await ramped.account(ramped.virtual);
      const made = await ramped.withdraw(richTron(1).address, "5");
      await realm.drain(); // sent, and not mined yet
      // The issuer blocks the ramp in the same block, before the payment.
      const [sent] = node.ledger.pool.splice(0);
      await usdtOwner(ramped, "0ecb93c0", ramped.address);
      node.ledger.pool.push(sent);
      const gas = await sunOf(ramped, ramped.address);
      const failed = await ramped.ended(made.body.id);
      equal(failed.status, "FAILED", JSON.stringify(failed));
      match(failed.error.detail, /moved nothing/);
      ok(await sunOf(ramped, ramped.address) < gas);
      deepEqual((await ramped.account(ramped.virtual)).balance, balance);
      await usdtOwner(ramped, "e4997dc5", ramped.address);
      await ramped.agree();
    },
  );

  await t.step("blocked addresses are named, and nothing is signed", async () => {
    const to = newTronParty();
    await usdtOwner(ramped, "0ecb93c0", to.address);
    const { length } = await attemptsOf(ramped);
    const made = await ramped.withdraw(to.address, "5");
    const failed = await ramped.ended(made.body.id);
    equal(failed.status, "FAILED");
    match(failed.error.detail, new RegExp(`${to.address} is blocked by the token`));
    equal((await attemptsOf(ramped)).length, length);
    await ramped.agree();
  });
});
