/** What a linked address gets without a transaction, as validators and stakers do: neither a deposit nor unexplained. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { PERIOD } from "../../../workers/scanning/second_scan.ts";
import { until } from "../../support/eventually.ts";
import { type FaultyNode, passOn, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { rowsOf } from "../../support/realm.ts";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";

const SOL = 1_000_000_000n;
/** More blocks than those of which the rewards are read at once. */
const LONG_AGO = 4_200;

/** A realm with a linked address, and what its two nodes tell of it. */
interface Scene extends AsyncDisposable {
  readonly fixture: SolanaFixture;
  readonly linked: string;
  /** The blocks with rewards that nodes were asked for: by each of two for each address. */
  readonly asked: unknown[];
  /** Signatures that no list has. */
  readonly hidden: Set<string>;
  readonly whole: unknown[];
  /** Links another address that is rewarded as the first is. */
  link(): Promise<void>;
  /** Gives the addresses lamports without a transaction. */
  reward(lamports: bigint): Promise<void>;
  /** Has nodes tell rewards of the newest final block, each its own. */
  tell(lamports: readonly bigint[]): Promise<void>;
}

async function openScene(): Promise<Scene> {
  const [nodes, hidden, whole]: [FaultyNode[], Set<string>, unknown[]] = [[], new Set(), []];
  const fixture = await openSolanaFixture({
    main: true,
    through: (url) => {
      for (let at = 0; at < 2; at++) nodes.push(startFaultyNode(url));
      return nodes.map((one) => one.url);
    },
  });
  const { node, realm, mine } = fixture;
  const all: string[] = [];
  const asked: unknown[] = [];
  await fixture.ramp();
  await mine();
  const told = nodes.map(() => new Map<unknown, bigint>());
  for (const [at, one] of nodes.entries()) {
    one.trick = async (question) => {
      const { method, params } = question;
      if (method === "getSignaturesForAddress") {
        const listed = await node.rpc<{ signature: string }[]>(method, ...params);
        return listed.filter(({ signature }) => !hidden.has(signature));
      }
      const { transactionDetails, rewards } = (params[1] ?? {}) as Record<string, unknown>;
      if (method !== "getBlock") return undefined;
      if (transactionDetails === "accounts") whole.push(params[0]);
      const lamports = told[at].get(params[0]);
      if (!rewards || lamports === undefined) return undefined;
      asked.push(params[0]);
      const { result } = await passOn(node.url, question) as { result: object };
      const given = [`${"1".repeat(43)}2`, ...all].map((pubkey) => {
        return { pubkey, lamports: Number(lamports), rewardType: "Fee" };
      });
      return { ...result, rewards: given };
    };
  }
  const { send } = realm.admin;
  async function link(): Promise<void> {
    const address = Keypair.generate().publicKey.toBase58();
    await node.pay(address, 20n * SOL);
    await mine();
    const { body: { id } } = await send("POST", "/v1/accounts", { type: "virtual", asset: "SOL" });
    equal((await send("POST", `/v1/accounts/${id}/assign/${address}`)).status, 200);
    await mine(2);
    all.push(address);
  }
  await link();
  return {
    ...{ fixture, linked: all[0], asked, hidden, whole, link },
    async reward(lamports) {
      for (const address of all) {
        const { value } = await node.rpc<{ value: number }>("getBalance", address);
        const change = { lamports: value + Number(lamports) };
        await node.raw("surfnet_setAccount", address, change);
      }
    },
    async tell(lamports) {
      const slot = await node.rpc<number>("getSlot", { commitment: "finalized" });
      for (const [at, one] of told.entries()) one.set(slot, lamports[at]);
    },
    async [Symbol.asyncDispose]() {
      for (const one of nodes) await one.abort();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

async function wait({ fixture: { node, mine } }: Scene): Promise<void> {
  for (let periods = 0; periods < 5; periods++) {
    await node.skip(PERIOD);
    await mine();
  }
}

/** How often each block with rewards is read, in each period. */
async function readInPeriods(scene: Scene, periods: number): Promise<number[]> {
  const { fixture: { node, mine }, asked } = scene;
  const read: number[] = [];
  for (let period = 0; period < periods; period++) {
    asked.length = 0;
    await node.skip(PERIOD);
    await mine();
    for (let passes = 0; passes < 3; passes++) await mine();
    read.push(asked.length / 2);
  }
  return read;
}

async function gains({ fixture: { realm } }: Scene): Promise<string[]> {
  const rows = await rowsOf<{ gained: string }>(
    realm,
    "select gained::text as gained from unexplained_gains",
  );
  return rows.map(({ gained }) => gained);
}

async function explain(scene: Scene): Promise<void> {
  const { fixture: { realm, mine } } = scene;
  await until(async () => {
    await rowsOf(realm, "update unexplained_gains set retry_at = now()");
    await mine();
    return (await gains(scene)).length === 0;
  });
  await mine();
}

async function credited({ fixture }: Scene): Promise<string[]> {
  return (await fixture.deposits()).map(({ amount, status }) => `${amount} ${status}`);
}

Deno.test("rewards at a linked address on Solana are neither deposits nor unexplained, and no whole block is read for them", async () => {
  await using scene = await openScene();
  const { fixture: { mine }, whole } = scene;
  for (const lamports of [SOL, 5n * SOL]) {
    await scene.reward(lamports);
    await mine();
    await scene.tell([lamports, lamports]);
    await wait(scene);
  }
  deepEqual([await credited(scene), await gains(scene), whole], [[], [], []]);
});

Deno.test("a payment that an index lacks is found beside rewards", async () => {
  await using scene = await openScene();
  const { fixture: { node, mine }, linked, hidden } = scene;
  await scene.reward(SOL);
  hidden.add(await node.pay(linked, 2n * SOL));
  await mine();
  await scene.tell([SOL, SOL]);
  await wait(scene);
  await explain(scene);
  deepEqual(await credited(scene), ["2 CONFIRMED"]);
});

Deno.test("rewards that one of two nodes makes up hide no payment", async () => {
  await using scene = await openScene();
  const { fixture: { node, mine }, linked, hidden } = scene;
  hidden.add(await node.pay(linked, 2n * SOL));
  await mine();
  await scene.tell([2n * SOL, 0n]);
  await wait(scene);
  await explain(scene);
  deepEqual(await credited(scene), ["2 CONFIRMED"]);
});

Deno.test("rewards of many linked addresses are read of few in each period, and are explained all the same", async () => {
  await using scene = await openScene();
  const { fixture: { mine } } = scene;
  for (let more = 0; more < 6; more++) await scene.link();
  await scene.reward(SOL);
  await mine();
  await scene.tell([SOL, SOL]);
  const read = await readInPeriods(scene, 8);
  ok(Math.max(...read) <= 3, `${read}`);
  equal(read.reduce((sum, one) => sum + one), 7, `${read}`);
  deepEqual([await credited(scene), await gains(scene)], [[], []]);
});

for (const [what, paid] of [["alone", 0n], ["beside a payment that an index lacks", 2n]] as const) {
  Deno.test(`rewards of long ago, ${what}, are found in the blocks that are searched`, async () => {
    await using scene = await openScene();
    const { fixture: { node, mine }, linked, hidden } = scene;
    await scene.reward(SOL);
    if (paid > 0n) hidden.add(await node.pay(linked, paid * SOL));
    await mine();
    await scene.tell([SOL, SOL]);
    await node.skip(LONG_AGO);
    await mine();
    await explain(scene);
    deepEqual(await credited(scene), paid > 0n ? [`${paid} CONFIRMED`] : []);
  });
}

Deno.test("rewards of long ago that one of two nodes makes up hide no payment", async () => {
  await using scene = await openScene();
  const { fixture: { node, mine }, linked, hidden } = scene;
  hidden.add(await node.pay(linked, 2n * SOL));
  await mine();
  await scene.tell([2n * SOL, 0n]);
  await node.skip(LONG_AGO);
  await mine();
  await explain(scene);
  deepEqual(await credited(scene), ["2 CONFIRMED"]);
});
