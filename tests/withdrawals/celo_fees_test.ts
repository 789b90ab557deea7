/** CUSD pays its own fee (CIP-64), from the deposit to the end of a withdrawal. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import * as ethers from "ethers";
import { toUnits } from "../../domain/money.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { signCip64 } from "../../workers/chains/evm/cip64.ts";
import { type Anvil, CALLS, rich, startAnvil } from "../support/nodes/anvil.ts";
import {
  CELO_BASE_FEE,
  CELO_COLLECTOR,
  CELO_EXTRA_GAS,
  type CeloNode,
  startCeloNode,
} from "../support/nodes/celo.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { installToken, type TestToken } from "../support/token_contracts.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { type Plan, readPlan } from "../../workers/chains/outgoing.ts";

const UNIT = 10n ** 18n;
const CELO = 42220;
const SEND = "eth_sendRawTransaction";

/** A ramp of CUSD that has seen 100 of them arrive, and never had a coin of CELO. */
interface Fixture extends AsyncDisposable {
  anvil: Anvil;
  celo: CeloNode;
  realm: TestRealm;
  token: TestToken;
  ramp: { id: string; address: string };
  /** Mines, follows the chain, and runs what is planned as if it were due. */
  turn(): Promise<void>;
  held(address: string): Promise<bigint>;
}

async function openFixture(): Promise<Fixture> {
  const anvil = await startAnvil(CELO, "--celo");
  const token = await installToken(anvil, "CUSD");
  const celo = startCeloNode(anvil, CELO, [token.contract]);
  const env = { CELO_RPC_URL: celo.url, CELO_CONFIRMATIONS: "1" };
  const realm = await testRealm({ env });
  const poller = openTestPoller(realm);
  const { send } = realm.admin;
  async function turn(): Promise<void> {
    await anvil.mine();
    await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
    await poller.follow();
  }
  const made = await send("POST", "/v1/accounts", { type: "ramp", asset: "CUSD" });
  equal(made.status, 201, made.text);
  await realm.drain();
  const { ramp } = (await send("GET", `/v1/accounts/${made.body.id}`)).body;
  await token.pay(ramp.address, 100n * UNIT);
  await turn();
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
  return {
    anvil,
    celo,
    realm,
    token,
    ramp: { id: made.body.id, address: ramp.address },
    turn,
    held: async (address) => {
      const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
      return BigInt(await anvil.rpc<string>("eth_call", { to: token.contract, data }, "latest"));
    },
    async [Symbol.asyncDispose]() {
      poller[Symbol.dispose]();
      await realm[Symbol.asyncDispose]();
      await celo[Symbol.asyncDispose]();
      await anvil.stop();
    },
  };
}

Deno.test("CUSD is withdrawn without a coin of CELO; its fee is booked in CUSD, to the last unit", async () => {
  await using fixture = await openFixture();
  const { realm, ramp, celo } = fixture;
  equal(BigInt(await fixture.anvil.rpc("eth_getBalance", ramp.address, "latest")), 0n);
  const done = await withdraw(fixture, "30");
  equal(done.status, "DONE");
  equal(await fixture.held(OUTSIDE), 30n * UNIT);
  const [sent, ...others] = celo.taken;
  deepEqual([sent.from, sent.feeCurrency, others], [ramp.address, fixture.token.contract, []]);
  const [order] = await rowsOf<{ fee: string; fee_contract: string; hash: string }>(
    realm,
    "select fee::text as fee, fee_contract, hash from chain_orders",
  );
  const fee = await fixture.held(CELO_COLLECTOR);
  deepEqual({ ...order }, { fee: `${fee}`, fee_contract: fixture.token.contract, hash: sent.hash });
  ok(fee > CELO_EXTRA_GAS * CELO_BASE_FEE);
  await agrees(fixture, 100n * UNIT - 30n * UNIT - fee);
});

Deno.test("the fee of CUSD is charged to a user in CUSD, and the part that the chain left is earned", async () => {
  await using fixture = await openFixture();
  const { realm, ramp } = fixture;
  const { send } = realm.admin;
  const virtual = { type: "virtual", asset: "CUSD", ramp: ramp.id };
  const { id } = (await send("POST", "/v1/accounts", virtual)).body;
  await realm.drain();
  const move = { source: { account: ramp.id }, destination: { account: id }, value: "50" };
  const moved = await send("POST", "/v1/transactions", move);
  equal(moved.status, 201, moved.text);
  const done = await withdraw(fixture, "30", id);
  equal(done.status, "DONE");
  const fee = await fixture.held(CELO_COLLECTOR);
  const left = toUnits((await realm.balance(id)).total, 18);
  const charged = 20n * UNIT - left;
  const [{ earned }] = await rowsOf<{ earned: string }>(
    realm,
    "select total::text as earned from accounts where system = 'fees' and asset = 'CUSD'",
  );
  equal(toUnits(earned, 18), charged - fee);
  await agrees(fixture, 100n * UNIT - 30n * UNIT - fee);
});

Deno.test("a node of Celo that says nothing at the broadcast delays CUSD, and it is sent once", async () => {
  await using fixture = await openFixture();
  const { faulty, taken } = fixture.celo;
  const honest = faulty.trick;
  let silent = 0;
  faulty.trick = async (question) => {
    const answer = await honest(question);
    if (question.method !== SEND || silent++ > 0) return answer;
    return new Response(null, { status: 504 });
  };
  equal((await withdraw(fixture, "30")).status, "DONE");
  equal(taken.length, 1);
  equal(await fixture.held(OUTSIDE), 30n * UNIT);
  await agrees(fixture, 70n * UNIT - await fixture.held(CELO_COLLECTOR));
});

Deno.test("a filler, or a cancellation, is paid in CUSD where the ramp never had a coin", async () => {
  await using fixture = await openFixture();
  const { realm, celo, ramp } = fixture;
  const { send } = realm.admin;
  const draw = { source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "30" };
  const { id } = (await send("POST", "/v1/withdrawals", draw)).body;
  const context = await workerContextOf(realm);
  try {
    const [seen] = await rowsOf<{ order: string; version: number }>(
      realm,
      "select id as order, schedule_version as version from chain_orders",
    );
    let canceled = 0;
    await advanceOrder(context, seen, async (step) => {
      if (step !== "stored" || canceled > 0) return;
      canceled = (await send("POST", `/v1/withdrawals/${id}/cancel`)).status;
    });
    equal(canceled, 200);
    equal((await withdraw(fixture, "20")).status, "DONE", "nothing behind it waits for coins");
    const token = fixture.token.contract;
    deepEqual(celo.taken.map((sent) => sent.feeCurrency), [token, token]);
    await agrees(fixture, 80n * UNIT - await fixture.held(CELO_COLLECTOR));
    const [{ plan }] = await rowsOf<{ plan: string }>(
      realm,
      "select plan from order_attempts where raw is not null order by created_at desc limit 1",
    );
    const prior = readPlan<Plan>(plan);
    const chain = await context.chains.open({ chain: "CELO", testnet: false });
    const cancels = { speed: "fast" as const, budget: null, cancels: true };
    const nothing = chain.plan(
      await chain.redraft(prior, cancels),
      {},
      prior,
    );
    deepEqual([nothing.order.kind, nothing.feeContract, nothing.amounts], ["noop", token, []]);
    equal(BigInt(JSON.parse(nothing.body).gas), 21_000n + CELO_EXTRA_GAS, "what nodes demand");
  } finally {
    context.chains.close();
  }
});

Deno.test("CUSD that pays its own fee no more when it is drafted: nothing is signed, all is given back", async () => {
  await using fixture = await openFixture();
  const { faulty, taken } = fixture.celo;
  const honest = faulty.trick;
  faulty.trick = (question) => {
    const [call] = question.params as { data?: string }[];
    const listed = question.method === "eth_call" && call.data?.length === 10;
    return listed ? `0x${"20".padStart(64, "0")}${"0".repeat(64)}` : honest(question);
  };
  await fixture.anvil.rpc("anvil_setBalance", fixture.ramp.address, "0xde0b6b3a7640000");
  const failed = await withdraw(fixture, "30");
  deepEqual([failed.status, failed.error.code], ["FAILED", "withdrawal.fee_exceeded"]);
  match(failed.error.detail, /would be paid in coins/);
  deepEqual([taken, await rowsOf(fixture.realm, "select 1 from order_attempts")], [[], []]);
  equal((await fixture.realm.balance(fixture.ramp.id)).available, "100");
  faulty.trick = honest;
  equal((await withdraw(fixture, "30")).status, "DONE");
});

Deno.test("the node of these tests takes nothing that Celo would not", async () => {
  await using fixture = await openFixture();
  const { anvil, celo, token } = fixture;
  const from = rich(0);
  const nonce = Number(await anvil.rpc("eth_getTransactionCount", from.address, "latest"));
  const good = {
    chainId: CELO,
    nonce,
    tip: 1n,
    max: 2n * CELO_BASE_FEE,
    gas: 200_000n,
    to: token.contract,
    value: 0n,
    data: CALLS.encodeFunctionData("transfer", [OUTSIDE, 5n]),
    feeToken: token.contract,
  };
  const key = new ethers.SigningKey(from.key);
  const stranger = new ethers.SigningKey(ethers.randomBytes(32));
  const send = async (raw: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: SEND, params: [raw] });
    const response = await fetch(celo.url, { method: "POST", body });
    const answer = await response.json();
    return answer.error?.message ?? answer.result;
  };
  const of = (change: Partial<typeof good>, by = key) =>
    signCip64(ethers, { ...good, ...change }, by);
  match(await send(of({ chainId: 1 })), /chain id/);
  match(await send(of({ feeToken: OUTSIDE })), /fee-currency/);
  match(await send(of({ max: CELO_BASE_FEE - 1n })), /base fee/);
  match(await send(of({ gas: 60_000n })), /intrinsic gas/);
  match(await send(of({ nonce: nonce - 1 })), /nonce too low/);
  match(await send(of({ nonce: nonce + 1 })), /nonce gap/);
  match(await send(of({ nonce: 0 }, stranger)), /insufficient funds/);
  const raw = of({});
  match(await send(raw.slice(0, -2)), /rlp/);
  const fields = ethers.decodeRlp("0x" + raw.slice(4)) as string[];
  const again = (changed: ethers.RlpStructuredDataish) =>
    send("0x7b" + ethers.encodeRlp(changed).slice(2));
  match(await again(fields.slice(0, 12)), /13 fields/);
  match(await again(fields.with(1, "0x0001")), /leading zeros/);
  const high = ethers.toBeHex(2n ** 256n - 2n);
  match(await again(fields.with(12, high)), /signature/);
  equal(celo.taken.length, 0);
  equal(await send(raw), ethers.keccak256(raw));
  match(await send(raw), /already known/);
  await anvil.mine();
  equal(await fixture.held(OUTSIDE), 5n);
});

/** Withdraws and waits for the end. */
// deno-lint-ignore no-explicit-any
async function withdraw(fixture: Fixture, value: string, account = fixture.ramp.id): Promise<any> {
  const { send } = fixture.realm.admin;
  const made = await send("POST", "/v1/withdrawals", {
    source: { account },
    destination: { address: OUTSIDE },
    value,
  });
  equal(made.status, 201, made.text);
  for (let round = 0; round < 20; round++) {
    const { body } = await send("GET", `/v1/withdrawals/${made.body.id}`);
    if (body.status !== "PROCESSING") return body;
    await fixture.turn();
  }
  const orders = await rowsOf(fixture.realm, "select state, error from chain_orders");
  throw new Error(JSON.stringify(orders));
}

/** Checks that chain and ledger agree, and that solvency finds no difference. */
async function agrees(fixture: Fixture, expected: bigint): Promise<void> {
  await fixture.turn();
  const held = await fixture.held(fixture.ramp.address);
  equal(held, expected);
  const [{ world }] = await rowsOf<{ world: string }>(
    fixture.realm,
    "select total::text as world from accounts where system = 'world' and asset = 'CUSD'",
  );
  equal(-toUnits(world, 18), held);
  const context = await workerContextOf(fixture.realm);
  await checkSolvency(context);
  context.chains.close();
  const [proof] = (await fixture.realm.admin.send("GET", "/v1/solvency?asset=CUSD")).body;
  deepEqual([proof.drift, proof.assets], ["0", ethers.formatUnits(held, 18)]);
}
