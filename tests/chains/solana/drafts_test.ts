/** What one node of Solana tells of a payment before it is signed, alone among three, neither spoils nor loses it. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { SendRequest } from "../../../workers/chains/outgoing.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { type FaultyNode, startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import { createToken, type SplToken } from "../../support/solana_tokens.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

interface Scene {
  readonly node: Surfpool;
  readonly token: SplToken;
  readonly chain: Chain;
  readonly lying: FaultyNode;
}

const MINT_BYTES = 82;
const DECIMALS_AT = 44;

/** Changes what a dry run told. */
function tries(node: Surfpool, value: object): Trick {
  return async ({ method, params }) => {
    if (method !== "simulateTransaction") return undefined;
    const told: Json = await node.rpc(method, ...params);
    return { ...told, value: { ...told.value, ...value } };
  };
}

/** Says that everything would work, and changes what accounts are like. */
function pretends(node: Surfpool, change: (account: Json, address: string) => Json): Trick {
  const works = tries(node, { err: null, logs: [], unitsConsumed: 5_000 });
  return async (question) => {
    const { method, params } = question;
    if (method !== "getMultipleAccounts") return await works(question);
    const told: Json = await node.rpc(method, ...params);
    const addresses = params[0] as string[];
    return {
      ...told,
      value: told.value.map((one: Json, at: number) => change(one, addresses[at])),
    };
  };
}

/** Tells one place more after the point of each mint. */
function otherDecimals(account: Json): Json {
  if (account === null) return null;
  const data = Uint8Array.fromBase64(account.data[0]);
  if (data.length !== MINT_BYTES) return account;
  data[DECIMALS_AT] += 1;
  return { ...account, data: [data.toBase64(), "base64"] };
}

function pays({ node, token }: Scene, to: string, coin = false): SendRequest {
  const from = node.payer.publicKey.toBase58();
  const contract = coin ? null : token.mint;
  return { kind: "pay", from, contract, payments: [{ to, amount: 2_000_000n }] };
}

/** Drafts, signs and sends a payment, and makes it final; tells whether it moved anything. */
async function succeeds(scene: Scene, order: SendRequest): Promise<boolean> {
  const { node, chain } = scene;
  const plan = chain.plan(await chain.draft(order, "medium"), {});
  const keys = new Map([[order.from, node.payer.secretKey.slice(0, 32)]]);
  const signed = { ...await chain.sign(plan, keys), body: plan.body };
  const raw = [signed.raw, { encoding: "base64", skipPreflight: true }];
  await node.rpc("sendTransaction", ...raw);
  await node.mine();
  return statusIs(await chain.status({ attempts: [signed], since: 0, depth: 1 }), "mined").success;
}

const SPOILING: Readonly<Record<string, (scene: Scene) => Trick>> = {
  "counts no compute units": ({ node }) => tries(node, { unitsConsumed: 0 }),
  "counts more compute units than a number holds": ({ node }) =>
    tries(node, { unitsConsumed: 2 ** 45 }),
  "tells other decimals of a token, and that it would work": ({ node }) =>
    pretends(node, otherDecimals),
};

async function hiddenReceiver(scene: Scene): Promise<void> {
  const { node, token, chain, lying } = scene;
  lying.trick = pretends(node, (one, address) => address === token.mint ? null : one);
  const order = pays(scene, token.mint, true);
  const refused = await chain.draft(order, "medium").then(() => null, (fault) => fault as Error);
  match(refused?.message ?? "it was drafted", /the mint of a token, not a wallet/);
  ok(chain.reports().some((one) => /would take a transaction of ours, .* would not/.test(one)));
}

async function longKey(scene: Scene): Promise<void> {
  const { node, token, chain, lying } = scene;
  const owner = Keypair.generate().publicKey.toBase58();
  await token.pay(owner, 5n);
  await node.mine();
  lying.trick = async ({ method, params }) => {
    if (method !== "getTokenAccountsByOwner") return undefined;
    const told: Json = await node.rpc(method, ...params);
    return { ...told, value: told.value.map((one: Json) => ({ ...one, pubkey: "z".repeat(44) })) };
  };
  const feePayer = node.payer.publicKey.toBase58();
  const payments = [{ to: feePayer, amount: "all" as const }];
  const sweep = { kind: "pay" as const, from: owner, contract: token.mint, payments, feePayer };
  const { order, lacking } = await chain.draft(sweep, "medium");
  deepEqual([order, lacking], [sweep, 0n]);
}

async function smallPart({ node, chain, lying }: Scene): Promise<void> {
  const owner = Keypair.generate().publicKey.toBase58();
  await node.pay(owner, 1_000_000_000n);
  await node.mine();
  lying.trick = pretends(
    node,
    (account, address) => address === owner ? { ...account, lamports: 6_000_000 } : account,
  );
  const payments = [{ to: node.payer.publicKey.toBase58(), amount: "all" as const }];
  const sweep = { kind: "pay" as const, from: owner, contract: null, payments };
  const draft = await chain.draft(sweep, "medium");
  ok(chain.plan(draft, {}).amounts[0] > 990_000_000n);
}

const OTHERS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "a node that hides what the receiver is has nothing paid to it": hiddenReceiver,
  "a node that names a token account of more bytes than a key has stops no sweep": longKey,
  "a node that tells little of what an address holds has no small part swept": smallPart,
};

Deno.test("a payment on Solana is drafted so that as many nodes as the quorum would take it", async (t) => {
  await using node = await startSurfpool();
  const nodes = Array.from({ length: 3 }, () => startFaultyNode(node.url));
  const token = await createToken(node);
  await token.pay(node.payer.publicKey.toBase58(), 1_000_000_000n);
  await node.mine();
  const [lying] = nodes;
  async function among(count: number, work: (scene: Scene) => Promise<void>): Promise<void> {
    const urls = nodes.slice(0, count).map(({ url }) => url);
    const chain = await openSolana("testnet", urls, { quorum: 2 });
    await work({ node, token, chain, lying });
    chain.close();
    lying.trick = () => undefined;
  }
  for (const [lie, trick] of Object.entries(SPOILING)) {
    await t.step(`a node that ${lie} makes none fail`, () =>
      among(3, async (scene) => {
        lying.trick = trick(scene);
        const to = Keypair.generate().publicKey.toBase58();
        ok(await succeeds(scene, pays(scene, to)));
        equal(await token.held(to), 2_000_000n);
      }));
  }
  for (const [name, step] of Object.entries(OTHERS)) await t.step(name, () => among(3, step));
  await t.step("of two nodes that disagree none is believed", () =>
    among(2, async (scene) => {
      lying.trick = pretends(node, (one, address) => address === token.mint ? null : one);
      await failsAs("unavailable", scene.chain.draft(pays(scene, token.mint, true), "medium"));
    }));
  await t.step(
    "of two nodes one that counts many compute units has no payment fail for its cost",
    () =>
      among(2, async (scene) => {
        const order = pays(scene, Keypair.generate().publicKey.toBase58(), true);
        const budget = { contract: null, units: 7_000n };
        equal((await scene.chain.draft(order, "medium", budget)).lacking, 0n);
        lying.trick = tries(node, { unitsConsumed: 399_999 });
        await failsAs("unavailable", scene.chain.draft(order, "medium", budget));
      }),
  );
  for (const one of nodes) await one[Symbol.asyncDispose]();
});
