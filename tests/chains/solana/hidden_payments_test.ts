/**
 * Payments on Solana that the nodes' index of transactions lacks for so long that no scan finds them: the balances tell of
 * them, and whole blocks show them.
 */
import { deepEqual, equal } from "node:assert/strict";
import * as web3 from "@solana/web3.js";
import { findAsset } from "../../../domain/assets.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import { closeInstruction } from "../../../workers/chains/solana/instructions.ts";
import { PERIOD } from "../../../workers/scanning/second_scan.ts";
import { type FaultyNode, passOn, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import {
  fillPayer,
  makeMint,
  makeOther,
  moves,
  plantMint,
} from "../../support/nodes/solana_tokens.ts";
import { until } from "../../support/eventually.ts";
import { rowsOf } from "../../support/realm.ts";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";

const { Keypair, SystemProgram } = web3;
const SOL = 1_000_000_000n;
const FINAL = { commitment: "finalized" };

/** A realm with an own and a linked address, and what its nodes hide. */
interface Scene extends AsyncDisposable {
  readonly fixture: SolanaFixture;
  readonly deposit: string;
  readonly linked: web3.Keypair;
  /** Has every node leave transactions out of its lists, and with `blocks` out of its blocks too. */
  hide(hashes: readonly string[], how?: { blocks: boolean }): void;
  credited(): Promise<string[]>;
  unexplained(): Promise<number>;
  /** Goes on until the second scans, and the time for which an index is waited for, are over. */
  wait(): Promise<void>;
}

function hides(
  node: Surfpool,
  hashes: readonly string[],
  { blocks = false } = {},
): FaultyNode["trick"] {
  return async (question) => {
    const { method, params } = question;
    if (method === "getSignaturesForAddress") {
      const listed = await node.rpc<{ signature: string }[]>(method, ...params);
      return listed.filter(({ signature }) => !hashes.includes(signature));
    }
    if (!blocks || method !== "getBlock") return undefined;
    const told = await passOn(node.url, question) as {
      result?: { transactions?: { transaction: { signatures: string[] } }[] };
    };
    const { result } = told;
    if (result?.transactions === undefined) return undefined;
    const transactions = result.transactions
      .filter(({ transaction }) => !hashes.includes(transaction.signatures[0]));
    return { ...result, transactions };
  };
}

async function openScene(names: string, asset: "SOL" | "PYUSD_SOL" = "SOL"): Promise<Scene> {
  const nodes: FaultyNode[] = [];
  const fixture = await openSolanaFixture({
    main: true,
    through: (url) => {
      for (const _ of names) nodes.push(startFaultyNode(url));
      return nodes.map((one) => one.url);
    },
  });
  const { node, realm, mine } = fixture;
  const deposit = await fixture.address((await fixture.ramp()).id);
  const linked = Keypair.generate();
  const { send } = realm.admin;
  const { body: { id } } = await send("POST", "/v1/accounts", { type: "virtual", asset });
  await node.pay(linked.publicKey.toBase58(), 20n * SOL);
  await mine();
  const path = `/v1/accounts/${id}/assign/${linked.publicKey.toBase58()}`;
  equal((await send("POST", path)).status, 200);
  await mine(2);
  return {
    ...{ fixture, linked, deposit: deposit.address },
    hide(hashes, how) {
      for (const one of nodes) one.trick = hides(node, hashes, how);
    },
    credited: async () =>
      (await fixture.deposits()).map((one) => `${one.address} ${one.amount} ${one.status}`)
        .toSorted(),
    async unexplained() {
      const { body } = await send("GET", "/v1/chains");
      return body.find((one: { chain: string; testnet: boolean }) =>
        one.chain === "SOLANA" && !one.testnet
      ).unexplained;
    },
    async wait() {
      for (let periods = 0; periods < 5; periods++) {
        await node.skip(PERIOD);
        await mine();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const one of nodes) await one.abort();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

/** Searches again until everything is explained. */
async function explain({ fixture, unexplained }: Scene): Promise<void> {
  await until(async () => {
    await rowsOf(fixture.realm, "update unexplained_gains set retry_at = now()");
    await fixture.mine();
    return await unexplained() === 0;
  });
  await fixture.mine();
}

for (const names of ["l", "ll"]) {
  Deno.test(`a payment that an index lacks for longer is found by the balance in whole blocks, also beside one that is known (nodes ${names})`, async () => {
    await using scene = await openScene(names);
    const { fixture: { node, mine }, deposit } = scene;
    await node.pay(deposit, 3n * SOL);
    await mine();
    const hash = await node.pay(deposit, 2n * SOL);
    scene.hide([hash]);
    await mine();
    deepEqual(await scene.credited(), [`${deposit} 3 CONFIRMED`]);
    await scene.wait();
    await explain(scene);
    deepEqual(await scene.credited(), [`${deposit} 2 CONFIRMED`, `${deposit} 3 CONFIRMED`]);
    scene.hide([]);
    await scene.wait();
    deepEqual([await scene.unexplained(), (await scene.credited()).length], [0, 2]);
  });
}

Deno.test("tokens at a linked address that an index lacks for longer are found by the balance", async () => {
  await using scene = await openScene("ll", "PYUSD_SOL");
  const { fixture: { node, mine }, linked } = scene;
  const { contract, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, { address: contract!, symbol: "PYUSD", decimals });
  const source = await fillPayer(node, mint, 10n ** 12n);
  const account = await makeOther(node, linked.publicKey.toBase58(), mint);
  await mine(2);
  const paid = moves(node, mint, { from: source, to: account, amount: 7_000_000n });
  scene.hide([await node.send([paid])]);
  await mine();
  deepEqual(await scene.credited(), []);
  await scene.wait();
  await explain(scene);
  deepEqual(await scene.credited(), [`${linked.publicKey.toBase58()} 7 CONFIRMED`]);
});

Deno.test("what came to an address between two links is neither a gain nor a deposit", async () => {
  await using scene = await openScene("l");
  const { fixture: { node, mine, realm: { admin: { send } } }, linked } = scene;
  const address = linked.publicKey.toBase58();
  const [{ id }] = await rowsOf<{ id: string }>(
    scene.fixture.realm,
    "select account as id from external_addresses",
  );
  equal((await send("DELETE", `/v1/accounts/${id}/assign/${address}`)).status, 200);
  await mine();
  scene.hide([await node.pay(address, 4n * SOL)], { blocks: true });
  await mine(2);
  equal((await send("POST", `/v1/accounts/${id}/assign/${address}`)).status, 200);
  await mine(2);
  await scene.wait();
  deepEqual([await scene.credited(), await scene.unexplained()], [[], 0]);
});

Deno.test("a payment that nodes show nowhere is told as unexplained, and found when a block shows it", async () => {
  await using scene = await openScene("l");
  const { fixture, deposit } = scene;
  const { node, mine } = fixture;
  const hash = await node.pay(deposit, 2n * SOL);
  scene.hide([hash], { blocks: true });
  await mine();
  await scene.wait();
  for (let round = 0; round < 20; round++) {
    await rowsOf(fixture.realm, "update unexplained_gains set retry_at = now()");
    await mine();
  }
  deepEqual([await scene.credited(), await scene.unexplained()], [[], 1]);
  scene.hide([hash]);
  await explain(scene);
  deepEqual(await scene.credited(), [`${deposit} 2 CONFIRMED`]);
});

Deno.test("what a linked address gains without a transaction, again and again, is told once each, up to ten times, and hides no payment", async () => {
  await using scene = await openScene("l");
  const { fixture: { node, mine, realm }, linked } = scene;
  const address = linked.publicKey.toBase58();
  const gain = async (lamports: bigint) => {
    await node.raw("surfnet_setAccount", address, { lamports: Number(lamports) });
    await mine();
    await scene.wait();
  };
  await gain(21n * SOL);
  await gain(22n * SOL);
  await scene.wait();
  deepEqual([await scene.credited(), await scene.unexplained()], [[], 2]);

  scene.hide([await node.pay(address, 3n * SOL)]);
  await mine();
  await scene.wait();
  await until(async () => {
    await rowsOf(realm, "update unexplained_gains set retry_at = now()");
    await mine();
    return (await scene.credited()).length > 0;
  });
  await mine();
  deepEqual(await scene.credited(), [`${address} 3 CONFIRMED`]);

  for (let more = 0n; more < 10n; more++) await gain((30n + more) * SOL);
  equal(await scene.unexplained(), 10);
});

for (const [what, hidden] of [["that an index has", 1], ["that it lacks too", 2]] as const) {
  Deno.test(`a payment that an index lacks is found although as much left, by a transaction ${what}`, async () => {
    await using scene = await openScene("ll");
    const { fixture: { node, mine }, linked } = scene;
    const address = linked.publicKey.toBase58();
    const missed = await node.pay(address, 5n * SOL);
    const spent = await node.send([
      SystemProgram.transfer({
        fromPubkey: linked.publicKey,
        toPubkey: Keypair.generate().publicKey,
        lamports: 8n * SOL,
      }),
    ], [linked]);
    await node.pay(address, 3n * SOL);
    scene.hide([missed, spent].slice(0, hidden));
    await mine();
    deepEqual(await scene.credited(), [`${address} 3 CONFIRMED`]);
    await scene.wait();
    await explain(scene);
    deepEqual(await scene.credited(), [`${address} 3 CONFIRMED`, `${address} 5 CONFIRMED`]);
  });
}

Deno.test("a rescan of blocks finds a payment that the index of all nodes lacks", async () => {
  await using scene = await openScene("ll");
  const { fixture: { node, mine, realm }, deposit } = scene;
  scene.hide([await node.pay(deposit, 2n * SOL)]);
  await mine();
  const to = await node.rpc<number>("getSlot", FINAL);
  const asked = { chain: "SOLANA", from: to - 4, to };
  const { status, text } = await realm.admin.send("POST", "/v1/deposits/rescan", asked);
  equal(status, 200, text);
  await mine(2);
  await mine();
  deepEqual(await scene.credited(), [`${deposit} 2 CONFIRMED`]);
});

Deno.test("an earlier balance of tokens counts accounts that were closed since then", async () => {
  await using node = await startSurfpool();
  const owner = Keypair.generate();
  const name = owner.publicKey.toBase58();
  await node.pay(name, SOL);
  const mint = await makeMint(node);
  const source = await fillPayer(node, mint, 10n ** 12n);
  const account = await makeOther(node, name, mint);
  await node.send([moves(node, mint, { from: source, to: account, amount: 5n })]);
  await node.mine();
  const before = await node.rpc<number>("getSlot", FINAL);
  const { program } = mint;
  await node.send([
    moves(node, mint, { from: account, to: source, amount: 5n, owner: name }),
    closeInstruction(web3, { account, owner: name, program, to: name }),
  ], [owner]);
  await node.mine();
  const chain = await openSolana("testnet", [node.url]);
  try {
    const holding = { address: name, contract: mint.address };
    const { height: after } = await chain.head();
    const held = async (at: number) => (await chain.balances([holding], at)).amounts[0];
    deepEqual([await held(before), await held(after)], [5n, 0n]);
    equal(await chain.spent(holding, before, after), 5n);
    equal(await chain.spent(holding, before - 1, before), 0n);
  } finally {
    chain.close();
  }
});
