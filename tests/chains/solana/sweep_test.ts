/** Sweeps of tokens on a real Solana node: the ramp pays, and gets the rent of emptied accounts. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { SendRequest } from "../../../workers/chains/outgoing.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import {
  fillPayer,
  freezes,
  handsOver,
  makeMint,
  makeOther,
  makesUsual,
  mayClose,
  moves,
  type TestMint,
  TOKEN_2022_PROGRAM,
  usualAccount,
} from "../../support/nodes/solana_tokens.ts";

const SOL = 1_000_000_000n;

/** A ramp that pays, and a deposit address without any SOL. */
interface Scene {
  readonly node: Surfpool;
  readonly chain: Chain;
  readonly ramp: Keypair;
  readonly deposit: Keypair;
}

function nameOf({ publicKey }: Keypair): string {
  return publicKey.toBase58();
}

async function openScene(node: Surfpool, url = node.url): Promise<Scene> {
  const chain = await openSolana("testnet", [url]);
  const scene = { node, chain, ramp: Keypair.generate(), deposit: Keypair.generate() };
  await node.pay(nameOf(scene.ramp), SOL);
  return scene;
}

function sweeps({ ramp, deposit }: Scene, mint: TestMint, amount: bigint | "all"): SendRequest {
  const payments = [{ to: nameOf(ramp), amount }];
  return {
    kind: "pay",
    from: nameOf(deposit),
    contract: mint.address,
    payments,
    feePayer: nameOf(ramp),
  };
}

/** Signs a sweep, sends it, and gives what it moved and cost. */
async function sweep(scene: Scene, mint: TestMint, amount: bigint | "all") {
  const { node, chain, ramp, deposit } = scene;
  const plan = chain.plan(await chain.draft(sweeps(scene, mint, amount), "medium"), {});
  const keys = new Map([ramp, deposit].map((one) => [nameOf(one), one.secretKey.slice(0, 32)]));
  const signed = { ...await chain.sign(plan, keys), body: plan.body };
  const [payment] = (await chain.inspect(signed.raw)).payments;
  deepEqual(payment, { to: nameOf(ramp), contract: mint.address, amount: plan.amounts[0] });
  equal((await chain.broadcast(signed)).outcome, "accepted");
  await node.mine();
  const status = statusIs(await chain.status({ attempts: [signed], since: 0, depth: 1 }), "mined");
  ok(status.success);
  return { amount: plan.amounts[0], fee: status.fee, hash: signed.hash };
}

async function lamportsOf(node: Surfpool, address: string): Promise<bigint> {
  const { value } = await node.rpc<{ value: number }>("getBalance", address);
  return BigInt(value);
}

/** Tokens of a new mint at two accounts of the deposit address; the ramp has an account already. */
async function fill(
  scene: Scene,
  options: Parameters<typeof makeMint>[1] = {},
): Promise<{ mint: TestMint; other: string }> {
  const { node, ramp, deposit } = scene;
  const mint = await makeMint(node, options);
  const source = await fillPayer(node, mint, 10_000n);
  const other = await makeOther(node, nameOf(deposit), mint, options.fee !== undefined);
  await node.send([
    makesUsual(node, nameOf(ramp), mint),
    makesUsual(node, nameOf(deposit), mint),
    moves(node, mint, { from: source, to: usualAccount(nameOf(deposit), mint), amount: 500n }),
    moves(node, mint, { from: source, to: other, amount: 700n }),
  ]);
  await node.mine();
  return { mint, other };
}

Deno.test("a sweep takes tokens from every account of an address, and their rent comes back to the ramp", async () => {
  await using node = await startSurfpool();
  const scene = await openScene(node);
  const { chain, ramp, deposit } = scene;
  const { mint, other } = await fill(scene);
  const usual = usualAccount(nameOf(deposit), mint);
  const rent = await lamportsOf(node, usual) + await lamportsOf(node, other);
  const before = await lamportsOf(node, nameOf(ramp));
  const { amount, fee, hash } = await sweep(scene, mint, "all");
  equal(amount, 1_200n);
  equal(await lamportsOf(node, nameOf(ramp)), before - fee + rent);
  deepEqual([await lamportsOf(node, usual), await lamportsOf(node, other)], [0n, 0n]);
  const held = [ramp, deposit].map((one) => ({ address: nameOf(one), contract: mint.address }));
  deepEqual((await chain.balances(held, null)).amounts, [1_200n, 0n]);
  const { height } = await chain.head();
  equal(await chain.balance(held[1], height - 1), 1_200n, "the accounts are closed now");
  const watch = { addresses: new Set([nameOf(ramp)]), inputs: new Set<string>(), contracts: null };
  deepEqual(
    (await chain.search({ hash }, watch)).map((one) => [one.contract, one.amount])
      .toSorted(([one]) => one === null ? -1 : 1),
    [[null, rent - fee], [mint.address, 1_200n]],
  );
  chain.close();
});

Deno.test("a part of a token, withheld fees and frozen accounts leave accounts as they are", async () => {
  await using node = await startSurfpool();
  const scene = await openScene(node);
  const { chain, deposit } = scene;
  const plain = await fill(scene);
  const usual = usualAccount(nameOf(deposit), plain.mint);
  equal((await sweep(scene, plain.mint, 600n)).amount, 600n);
  equal(await lamportsOf(node, usual), 0n, "the first account is empty");
  ok(await lamportsOf(node, plain.other) > 0n, "the other one is not");
  const kept = await fill(scene, { program: TOKEN_2022_PROGRAM, fee: 1_000 });
  equal((await sweep(scene, kept.mint, "all")).amount, 1_080n);
  ok(await lamportsOf(node, kept.other) > 0n, "the token's fee lies there");
  const frozen = await fill(scene, { freezer: nameOf(node.payer) });
  await node.send([freezes(node, frozen.mint, frozen.other)]);
  await node.mine();
  equal((await sweep(scene, frozen.mint, "all")).amount, 500n);
  const left = sweeps(scene, frozen.mint, "all");
  const why = await chain.draft(left, "medium").catch(({ message }: Error) => message);
  match(`${why}`, /frozen the token account/);
  await failsAs("refused", chain.draft(left, "medium"));
  chain.close();
});

Deno.test("token accounts that a stranger handed over and may still close are swept, and stay open", async () => {
  await using node = await startSurfpool();
  const scene = await openScene(node);
  const { chain, deposit } = scene;
  const { mint, other } = await fill(scene);
  const given = await makeOther(node, nameOf(node.payer), mint);
  const source = usualAccount(nameOf(node.payer), mint);
  await node.send([
    moves(node, mint, { from: source, to: given, amount: 900n }),
    mayClose(node, mint, given, nameOf(node.payer)),
    handsOver(node, mint, given, nameOf(deposit)),
  ]);
  await node.mine();
  equal((await sweep(scene, mint, "all")).amount, 2_100n);
  ok(await lamportsOf(node, given) > 0n, "the stranger alone may close it");
  equal(await lamportsOf(node, other), 0n);
  chain.close();
});

Deno.test("what arrives at a token account and is not final yet does not keep the rest from being swept", async () => {
  await using node = await startSurfpool();
  // Surfpool tells the newest state also where the final one is asked for.
  await using front = startFaultyNode(node.url);
  const scene = await openScene(node, front.url);
  const { chain, deposit } = scene;
  const { mint } = await fill(scene);
  const usual = usualAccount(nameOf(deposit), mint);
  const source = usualAccount(nameOf(node.payer), mint);
  const of = { mint: mint.address };
  const how = { encoding: "base64" };
  const listed = await node.rpc("getTokenAccountsByOwner", nameOf(deposit), of, how);
  front.trick = ({ method }) => method === "getTokenAccountsByOwner" ? listed : undefined;
  await node.send([moves(node, mint, { from: source, to: usual, amount: 1n })]);
  equal((await sweep(scene, mint, "all")).amount, 1_200n);
  front.trick = () => undefined;
  ok(await lamportsOf(node, usual) > 0n, "it holds what came later");
  equal((await sweep(scene, mint, "all")).amount, 1n);
  equal(await lamportsOf(node, usual), 0n);
  chain.close();
});

Deno.test("a sweep is signed for the accounts that its plan names, and closes no other", async () => {
  await using node = await startSurfpool();
  const scene = await openScene(node);
  const { chain, ramp, deposit } = scene;
  const { mint } = await fill(scene);
  const plan = chain.plan(await chain.draft(sweeps(scene, mint, "all"), "medium"), {});
  const keys = new Map([ramp, deposit].map((one) => [nameOf(one), one.secretKey.slice(0, 32)]));
  const body = JSON.parse(plan.body);
  ok(await chain.sign(plan, keys));
  const [first, second] = body.sources;
  for (const sources of [[first], [first, first], [{ ...first, amount: "499" }, second]]) {
    const bent = { ...plan, body: JSON.stringify({ ...body, sources }) };
    await failsAs("refused", chain.sign(bent, keys));
  }
  chain.close();
});
