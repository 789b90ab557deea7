/** What a linked address gets without a transaction, as validators and stakers do: neither a deposit nor unexplained. */
import { deepEqual, equal } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { PERIOD } from "../../../workers/scanning/second_scan.ts";
import { until } from "../../support/eventually.ts";
import { type FaultyNode, passOn, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { rowsOf } from "../../support/realm.ts";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";

const SOL = 1_000_000_000n;

/** A realm with a linked address, and what its two nodes tell of it. */
interface Scene extends AsyncDisposable {
  readonly fixture: SolanaFixture;
  readonly linked: string;
  /** Signatures that no list has. */
  readonly hidden: Set<string>;
  readonly whole: unknown[];
  /** Gives the address lamports without a transaction. */
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
  const linked = Keypair.generate().publicKey.toBase58();
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
      const { result } = await passOn(node.url, question) as { result: object };
      const reward = { pubkey: linked, lamports: Number(lamports), rewardType: "Fee" };
      return { ...result, rewards: [{ ...reward, pubkey: `${"1".repeat(43)}2` }, reward] };
    };
  }
  await node.pay(linked, 20n * SOL);
  await mine();
  const { send } = realm.admin;
  const { body: { id } } = await send("POST", "/v1/accounts", { type: "virtual", asset: "SOL" });
  equal((await send("POST", `/v1/accounts/${id}/assign/${linked}`)).status, 200);
  await mine(2);
  return {
    ...{ fixture, linked, hidden, whole },
    async reward(lamports) {
      const { value } = await node.rpc<{ value: number }>("getBalance", linked);
      const change = { lamports: value + Number(lamports) };
      await node.raw("surfnet_setAccount", linked, change);
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
