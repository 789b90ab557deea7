/** Stalled nodes: a node accepts a request and never answers it, at every place that asks a node. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { startChainPoller } from "../../workers/scanning/chain_poller.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startAnvil } from "../support/nodes/anvil.ts";
import { realmDatabase } from "../support/database.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharingFunded } from "../support/sharing_funded.ts";
import {
  type FaultyNode,
  type Question,
  type Stall,
  startFaultyNode,
} from "../support/nodes/faulty_node.ts";
import { holdingTimeouts } from "../support/held_timers.ts";
import { until } from "../support/eventually.ts";

const ETHER = 10n ** 18n;
/** What a funded ramp holds unless told. */
const FUNDS = 10n * ETHER;
const SEND = "eth_sendRawTransaction";
/** Of a node's answers; it ends when nothing else is awaited, so that no answer of a busy machine is late. */
const TIMEOUT_MS = 599_000;

/** A faulty node in front of a node whose URL is given later. */
interface Curtain extends Disposable {
  faulty(): FaultyNode;
  raise(url: string): string;
  /** Has it be silent; requests that it owes are given up once no other is under way. */
  stall(how?: Parameters<FaultyNode["stall"]>[0], node?: FaultyNode): Stall;
}

function curtain(): Curtain {
  let faulty: FaultyNode | null = null;
  const timeouts = holdingTimeouts(TIMEOUT_MS);
  let [kept, over]: [Stall["kept"], number] = [[], 0];
  const timer = setInterval(() => {
    if (kept.length === over || timeouts.running() > kept.length - over) return;
    over = kept.length;
    timeouts.expire();
  }, 5);
  return {
    faulty: () => faulty!,
    raise: (url) => (faulty = startFaultyNode(url)).url,
    stall(how, node = faulty!) {
      const stall = node.stall(how);
      [kept, over] = [stall.kept, 0];
      return {
        ...stall,
        end() {
          over = kept.length; // those are answered now
          stall.end();
        },
      };
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      timeouts[Symbol.dispose]();
    },
  };
}

Deno.test("a node that stalls at any question of a scan loses no deposit and doubles none", async () => {
  using silence = curtain();
  const { faulty, raise } = silence;
  const env = { ETHEREUM_TESTNET_CONFIRMATIONS: "1", ETHEREUM_TIMEOUT_MS: `${TIMEOUT_MS}` };
  await using fixture = await openRampFixture({ through: raise, env });
  const ramp = await fixture.ramp();
  await fixture.mine();
  let paid = 0;
  for (let at = 1, reached = true; reached; at++) {
    await fixture.anvil.pool({ to: ramp.address, value: ETHER });
    await fixture.anvil.mine();
    paid++;
    let asked = 0;
    const stall = silence.stall({ which: () => ++asked === at });
    await fixture.poller.advance();
    reached = stall.kept.length > 0;
    if (reached) {
      const [chain] = (await fixture.realm.admin.send("GET", "/v1/chains")).body;
      const late = `gave no answer in ${TIMEOUT_MS} ms`;
      match(chain.error ?? late, new RegExp(`${late}|deposits wait`));
    }
    stall.end();
    await fixture.mine();
    equal((await fixture.account(ramp.id)).balance.total, `${paid}`, `question ${at}`);
    equal((await fixture.deposits()).length, paid);
  }
  ok(paid > 5, `${paid} questions`);
  await faulty().abort();
});

const STALLS: Readonly<
  Record<string, { which: (question: Question) => boolean; deaf?: boolean }>
> = {
  "at the first question": { which: () => true },
  "while it drafts": { which: ({ method }) => method === "eth_getCode" },
  "while it tells its nonce": { which: ({ method }) => method === "eth_getTransactionCount" },
  "while it tells its prices": { which: ({ method }) => method === "eth_feeHistory" },
  "at the broadcast, without having heard": { which: ({ method }) => method === SEND },
  "at the broadcast, having taken the bytes": {
    which: ({ method }) => method === SEND,
    deaf: false,
  },
  "at the status": { which: ({ method }) => method === "eth_getTransactionReceipt" },
};

const test = sharingFunded("withdrawals whose node stalls", {
  env: { ETHEREUM_TIMEOUT_MS: `${TIMEOUT_MS}` },
});

for (const [name, how] of Object.entries(STALLS)) {
  test(`a withdrawal whose node stalls ${name} is sent once`, 1, async (fronted) => {
    using silence = curtain();
    const { funded, nodes: [node], outside } = fronted;
    const before = (await funded.books()).world;
    const { body: { id } } = await funded.withdraw("1", { destination: { address: outside } });
    const stall = silence.stall(how, node);
    await funded.advance();
    equal((await funded.read(id)).status, "PROCESSING");
    await funded.anvil.mine();
    await funded.advance();
    ok(stall.kept.length > 0, `nobody asked: ${node.asked}`);
    stall.end();
    await funded.finish(id);
    await paid(funded, 1, { outside, since: before });
    const sent = new Set(rawOf(stall.kept));
    ok(sent.size <= 1, "other bytes were sent");
    const attempts = await rowsOf(
      funded.realm,
      "select a.hash from order_attempts a join chain_orders o on o.id = a.order_id where o.sender = $1",
      [funded.address],
    );
    equal(attempts.length, 1);
  });
}

Deno.test("a node that stalls at any question of a withdrawal delays it, and it is paid once", async () => {
  using silence = curtain();
  const { faulty, raise } = silence;
  const env = { ETHEREUM_TIMEOUT_MS: `${TIMEOUT_MS}` };
  await using funded = await openFundedRamp({
    front: raise,
    env,
    coins: 100n * ETHER,
    total: "100",
  });
  let count = 0;
  for (let at = 1, reached = true; reached; at++) {
    const { body: { id } } = await funded.withdraw("1");
    count++;
    let asked = 0;
    const stall = silence.stall({ which: () => ++asked === at });
    for (let round = 0; round < 4; round++) {
      await funded.advance();
      await funded.anvil.mine();
    }
    reached = stall.kept.length > 0;
    stall.end();
    await funded.finish(id);
    await paid(funded, count);
  }
  ok(count > 5, `${count} questions`);
  await faulty().abort();
});

Deno.test("the second of two nodes stalls: nothing waits for more than its time-out", async () => {
  using silence = curtain();
  const mute = startFaultyNode(null);
  silence.stall({}, mute);
  const env = { ETHEREUM_TIMEOUT_MS: `${TIMEOUT_MS}`, ETHEREUM_QUORUM: "1" };
  await using funded = await openFundedRamp({ front: (url) => `${url},${mute.url}`, env });
  const { body: { id } } = await funded.withdraw("1");
  equal((await funded.finish(id)).status, "DONE");
  await paid(funded, 1);
  await mute.abort();
});

Deno.test("a chain whose node stalls holds up neither other chains nor other realms", async () => {
  await using own = await realmDatabase();
  await using polygon = await startAnvil(137);
  await polygon.mine();
  const ethereum = await startAnvil(1);
  await ethereum.mine();
  const faulty = startFaultyNode(ethereum.url);
  const env = {
    DATABASE_URL: own.url,
    ETHEREUM_RPC_URL: faulty.url,
    ETHEREUM_CONFIRMATIONS: "1",
    ETHEREUM_TIMEOUT_MS: "120000",
    POLYGON_RPC_URL: polygon.url,
    POLYGON_CONFIRMATIONS: "1",
  };
  await using realm = await testRealm({ env });
  await using neighbour = await realm.neighbour();
  const eth = await rampIn(realm, "ETH");
  const mine = await rampIn(realm, "MATIC");
  const theirs = await rampIn(neighbour, "MATIC");
  const { config, log } = realm.services;
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  const options = { database: realm.database, log, chains, signer, now: Date.now, pollMs: 100 };
  const runner = startRunner(options);
  const poller = startChainPoller({ ...options, wake: runner.wake });
  const total = async (of: TestRealm, id: string) =>
    (await of.admin.send("GET", `/v1/accounts/${id}`)).body.balance.total;
  try {
    // Both realms are being followed on both chains before one of them falls silent.
    await until(async () => (await cursorsOf(realm)).length === 2);
    const stall = faulty.stall();
    await ethereum.send({ to: eth.address, value: ETHER });
    await stall.reached;
    for (let deposit = 1; deposit <= 3; deposit++) {
      await polygon.pool({ to: mine.address, value: ETHER });
      await polygon.pool({ to: theirs.address, value: ETHER });
      await polygon.mine();
      await until(async () =>
        await total(realm, mine.id) === `${deposit}` &&
        await total(neighbour, theirs.id) === `${deposit}`
      );
    }
    equal(await total(realm, eth.id), "0");
    equal(stall.kept.length, 1, "a silent node is not asked by several");
    stall.end();
    await until(async () => await total(realm, eth.id) === "1");
  } finally {
    chains.close();
    await Promise.all([poller.stop(), runner.stop()]);
    neighbour.leave();
    await faulty.abort();
    await ethereum.stop();
  }
});

function rawOf(questions: readonly Question[]): unknown[] {
  return questions.filter(({ method }) => method === SEND).map(({ params: [raw] }) => raw);
}

async function rampIn(realm: TestRealm, asset: string): Promise<{ id: string; address: string }> {
  const { body } = await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset });
  await realm.drain();
  const { id, ramp } = (await realm.admin.send("GET", `/v1/accounts/${body.id}`)).body;
  return { id, address: ramp.address };
}

async function cursorsOf(realm: TestRealm): Promise<unknown[]> {
  return (await realm.admin.send("GET", "/v1/chains")).body
    .filter((chain: { scanned: number | null }) => chain.scanned !== null);
}

/**
 * Checks the number of received coins and of sent transactions, and that ledger and chain agree.
 *
 * @param of where other ramps of the realm hold coins too: the address that was paid, and the world's balance before
 */
async function paid(
  { anvil, address, books }: FundedRamp,
  count: number,
  of?: { outside: string; since: string },
): Promise<void> {
  const read = async (method: string, from: string) =>
    BigInt(await anvil.rpc(method, from, "latest"));
  deepEqual(
    [
      await read("eth_getBalance", of?.outside ?? OUTSIDE),
      await read("eth_getTransactionCount", address),
    ],
    [BigInt(count) * ETHER, BigInt(count)],
  );
  const others = of === undefined ? 0n : toUnits(of.since, 18) + FUNDS;
  equal(await read("eth_getBalance", address), others - toUnits((await books()).world, 18));
}
