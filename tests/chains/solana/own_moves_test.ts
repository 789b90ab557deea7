/** Balances of Solana that own orders move: they explain what they brought and took, and hide no payment. */
import { deepEqual, equal } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { findAsset } from "../../../domain/assets.ts";
import { PERIOD } from "../../../workers/scanning/second_scan.ts";
import { until } from "../../support/eventually.ts";
import { type FaultyNode, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { fillPayer, makeOther, moves, plantMint } from "../../support/nodes/solana_tokens.ts";
import { rowsOf } from "../../support/realm.ts";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";

const SOL = 1_000_000_000n;

/** A realm with two nodes whose lists leave transactions out, and the whole blocks that they were asked for. */
interface Scene extends AsyncDisposable {
  readonly fixture: SolanaFixture;
  /** Signatures that no list has. */
  readonly hidden: Set<string>;
  readonly whole: unknown[];
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
  for (const one of nodes) {
    one.trick = async ({ method, params }) => {
      const { transactionDetails } = (params[1] ?? {}) as { transactionDetails?: string };
      if (method === "getBlock" && transactionDetails === "accounts") whole.push(params[0]);
      if (method !== "getSignaturesForAddress") return undefined;
      const listed = await fixture.node.rpc<{ signature: string }[]>(method, ...params);
      return listed.filter(({ signature }) => !hidden.has(signature));
    };
  }
  return {
    ...{ fixture, hidden, whole },
    async [Symbol.asyncDispose]() {
      for (const one of nodes) await one.abort();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

/** Has an order of a purpose sent, and gives its transaction. */
async function sentOrder(
  { fixture: { realm } }: Scene,
  purpose: string,
): Promise<{ hash: string; took: bigint }> {
  const found = async () => {
    await realm.drain();
    return await rowsOf<{ hash: string; took: string }>(
      realm,
      "select hash, (amount + fee)::text as took from chain_orders where purpose = $1 and state = 'sent'",
      [purpose],
    );
  };
  await until(async () => (await found()).length === 1);
  const [{ hash, took }] = await found();
  return { hash, took: BigInt(took) };
}

async function withdraw({ fixture: { realm } }: Scene, ramp: string): Promise<void> {
  const { status, text } = await realm.admin.send("POST", "/v1/withdrawals", {
    source: { account: ramp },
    destination: { address: Keypair.generate().publicKey.toBase58() },
    value: "1",
  });
  equal(status, 201, text);
}

/** Mines until every order has ended. */
async function finish({ fixture: { realm, mineUntil } }: Scene): Promise<void> {
  await mineUntil(async () => {
    const open = await rowsOf(realm, "select 1 from chain_orders where state <> 'done'");
    return open.length === 0;
  });
}

async function wait({ fixture: { node, mine } }: Scene): Promise<void> {
  for (let periods = 0; periods < 5; periods++) {
    await node.skip(PERIOD);
    await mine();
  }
}

/** Searches again until everything is explained. */
async function explain({ fixture: { realm, mine } }: Scene): Promise<void> {
  await until(async () => {
    await rowsOf(realm, "update unexplained_gains set retry_at = now()");
    await mine();
    return (await rowsOf(realm, "select 1 from unexplained_gains")).length === 0;
  });
}

async function credited({ fixture }: Scene): Promise<string[]> {
  return (await fixture.deposits()).map((one) => `${one.address} ${one.amount}`).toSorted();
}

Deno.test("neither a sweep into a ramp on Solana nor a withdrawal from it has a whole block read", async () => {
  await using scene = await openScene();
  const { fixture, whole } = scene;
  const { node, mine, realm } = fixture;
  const { contract, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, { address: contract!, symbol: "PYUSD", decimals });
  const ramp = await fixture.ramp();
  const tokens = await fixture.ramp("PYUSD_SOL");
  const [coin, token] = [await fixture.address(ramp.id), await fixture.address(tokens.id)];
  const from = await fillPayer(node, mint, 10n ** 12n);
  const accounts: string[] = [];
  for (let at = 0; at < 3; at++) accounts.push(await makeOther(node, token.address, mint));
  await node.pay(tokens.address, SOL);
  await mine(2);
  await node.pay(coin.address, 5n * SOL);
  await node.send(accounts.map((to) => moves(node, mint, { from, to, amount: 70_000_000n })));
  await mine();
  await fixture.mineUntil(async () => {
    const totals = [await fixture.account(ramp.id), await fixture.account(tokens.id)];
    return totals.every(({ balance }) => balance.total !== "0");
  });
  await mine();
  await withdraw(scene, ramp.id);
  await sentOrder(scene, "withdrawal");
  await finish(scene);
  await wait(scene);
  const orders = await rowsOf<{ purpose: string; state: string }>(
    realm,
    "select purpose, state from chain_orders order by purpose, id",
  );
  deepEqual(orders.map((one) => `${one.purpose} ${one.state}`), [
    "sweep done",
    "sweep done",
    "withdrawal done",
  ]);
  deepEqual(whole, []);
  deepEqual(await rowsOf(realm, "select * from unexplained_gains"), []);
});

Deno.test("a payment to a ramp that an index lacks is found beside a sweep into it", async () => {
  await using scene = await openScene();
  const { fixture, hidden } = scene;
  const { node, mine } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await mine(2);
  await node.pay(deposit.address, 5n * SOL);
  await mine();
  await sentOrder(scene, "sweep");
  hidden.add(await node.pay(ramp.address, 2n * SOL));
  await finish(scene);
  deepEqual(await credited(scene), [`${deposit.address} 5`]);
  await wait(scene);
  await explain(scene);
  deepEqual(await credited(scene), [`${deposit.address} 5`, `${ramp.address} 2`].toSorted());
});

Deno.test("a payment of as much as an order of ours takes is found, although an index lacks both", async () => {
  await using scene = await openScene();
  const { fixture, hidden } = scene;
  const { node, mine, realm } = fixture;
  const ramp = await fixture.ramp();
  await mine(2);
  await node.pay(ramp.address, 5n * SOL);
  await mine(2);
  await withdraw(scene, ramp.id);
  const { hash, took } = await sentOrder(scene, "withdrawal");
  hidden.add(hash).add(await node.pay(ramp.address, took));
  await mine();
  await finish(scene);
  await wait(scene);
  await explain(scene);
  const units = "select (amount * 1000000000)::bigint::text as units from deposits order by id";
  deepEqual(
    (await rowsOf<{ units: string }>(realm, units)).map(({ units }) => BigInt(units)),
    [5n * SOL, took],
  );
});

Deno.test("what an order of ours took is known where an index lacks it, and no block is searched for it", async () => {
  await using scene = await openScene();
  const { fixture, hidden, whole } = scene;
  const { node, mine, realm } = fixture;
  const ramp = await fixture.ramp();
  await mine(2);
  await node.pay(ramp.address, 5n * SOL);
  await mine(2);
  await withdraw(scene, ramp.id);
  hidden.add((await sentOrder(scene, "withdrawal")).hash);
  await mine();
  await finish(scene);
  await wait(scene);
  deepEqual(await rowsOf(realm, "select * from unexplained_gains"), []);
  deepEqual(whole, []);
});
