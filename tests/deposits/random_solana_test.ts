/**
 * Deposits on Solana by chance: coins and tokens that come by one or many instructions, at associated accounts and others,
 * at accounts that change hands, in transactions that fail, across skipped slots, with addresses handed out and linked
 * meanwhile, two processes at once, and nodes that lack a method, stop, or distort an answer. In the end everything that
 * the chain has is credited, once, and nothing else.
 */
import { deepEqual } from "node:assert/strict";
import {
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { findAsset } from "../../domain/assets.ts";
import { type Random, randomFrom } from "../fuzz/random.ts";
import {
  type FaultyNode,
  NodeError,
  passOn,
  startFaultyNode,
} from "../support/nodes/faulty_node.ts";
import { makeDue } from "../support/lying_life.ts";
import {
  assertCredited,
  type Paid,
  settle,
  type WatchedAddress,
} from "../support/random_deposits.ts";
import { distort } from "../support/random_lies.ts";
import { driftsOf } from "../support/ramp_fixture.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import { seeds } from "../support/seeds.ts";
import {
  fillPayer,
  handsOver,
  makeMint,
  makeOther,
  makesUsual,
  moves,
  plantMint,
  type TestMint,
  usualAccount,
} from "../support/nodes/solana_tokens.ts";
import { openSolanaFixture, type SolanaFixture } from "../support/solana_deposit_fixture.ts";

type Asset = "SOL" | "PYUSD_SOL";

/** A realm, the nodes that it asks, and what was paid to it. */
interface Scene {
  readonly fixture: SolanaFixture;
  readonly random: Random;
  readonly nodes: readonly FaultyNode[];
  readonly places: WatchedAddress<Asset>[];
  readonly paid: Paid[];
  readonly ramps: Record<Asset, string>;
  readonly mint: TestMint;
  readonly source: string;
  readonly other: TestMint;
  readonly otherSource: string;
}

const SOL = 1_000_000_000n;
const STEPS = 30;

async function openScene(random: Random): Promise<Scene> {
  const nodes: FaultyNode[] = [];
  const fixture = await openSolanaFixture({
    main: true,
    through: (url) => {
      const many = random.pick([2, 2, 3]);
      for (let at = 0; at < many; at++) nodes.push(startFaultyNode(url));
      return nodes.map((one) => one.url);
    },
  });
  const { node } = fixture;
  const { contract, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, { address: contract!, symbol: "PYUSD", decimals });
  const source = await fillPayer(node, mint, 10n ** 15n);
  const other = await makeMint(node);
  const otherSource = await fillPayer(node, other, 10n ** 15n);
  const [coins, tokens] = [await fixture.ramp(), await fixture.ramp("PYUSD_SOL")];
  await node.pay(tokens.address, SOL);
  const places: WatchedAddress<Asset>[] = [
    { address: coins.address, asset: "SOL" },
    { address: tokens.address, asset: "PYUSD_SOL" },
  ];
  await fixture.mine();
  return {
    ...{ fixture, random, nodes, places, paid: [], mint, source, other, otherSource },
    ramps: { SOL: coins.id, PYUSD_SOL: tokens.id },
  };
}

async function addPlace({ fixture, random, places, ramps }: Scene): Promise<void> {
  const asset = random.pick(["SOL", "PYUSD_SOL"] as const);
  if (random.chance(0.75)) {
    const { address } = await fixture.address(ramps[asset]);
    places.push({ address, asset });
    return;
  }
  const { send } = fixture.realm.admin;
  const { body: { id } } = await send("POST", "/v1/accounts", { type: "virtual", asset });
  const address = Keypair.generate().publicKey.toBase58();
  const { status, text } = await send("POST", `/v1/accounts/${id}/assign/${address}`);
  if (status !== 200) throw new Error(text);
  places.push({ address, asset });
}

/** An account for tokens of an address, with what makes it. */
async function accountFor(
  scene: Scene,
  owner: string,
  mint: TestMint,
): Promise<{ account: string; makes: TransactionInstruction[] }> {
  const { fixture: { node }, random } = scene;
  if (random.chance(0.6)) {
    return { account: usualAccount(owner, mint), makes: [makesUsual(node, owner, mint)] };
  }
  const account = await makeOther(node, owner, mint);
  return { account, makes: [] };
}

/** Some payments in one transaction. */
async function pay(scene: Scene): Promise<void> {
  const { fixture: { node }, random, places, paid, mint, source, other, otherSource } = scene;
  const steps: TransactionInstruction[] = [];
  const mine: Omit<Paid, "hash">[] = [];
  for (let count = 1 + random.below(4); count > 0; count--) {
    const { address } = random.pick(places);
    const kind = random.below(8);
    const amount = BigInt(1 + random.below(3_000_000));
    if (kind < 3) {
      const lamports = 2_000_000n + amount;
      steps.push(SystemProgram.transfer({
        fromPubkey: node.payer.publicKey,
        toPubkey: new PublicKey(address),
        lamports,
      }));
      mine.push({ address, contract: null, amount: lamports });
    } else if (kind < 6) {
      const { account, makes } = await accountFor(scene, address, mint);
      steps.push(...makes, moves(node, mint, { from: source, to: account, amount }));
      mine.push({ address, contract: mint.address, amount });
    } else if (kind === 6) {
      const usual = usualAccount(address, other);
      steps.push(
        makesUsual(node, address, other),
        moves(node, other, { from: otherSource, to: usual, amount }),
      );
    } else {
      // An account with tokens changes hands; a first owner filled it.
      const payer = node.payer.publicKey.toBase58();
      const given = await makeOther(node, payer, mint);
      if (random.chance(0.5)) {
        await node.send([moves(node, mint, { from: source, to: given, amount })]);
      } else steps.push(moves(node, mint, { from: source, to: given, amount }));
      steps.push(handsOver(node, mint, given, address));
      mine.push({ address, contract: mint.address, amount });
    }
  }
  if (random.chance(0.15)) {
    const tooMuch = SystemProgram.transfer({
      fromPubkey: node.payer.publicKey,
      toPubkey: Keypair.generate().publicKey,
      lamports: 10n ** 17n,
    });
    await sendAnyway(scene, [...steps, tooMuch]);
    return;
  }
  const hash = await node.send(steps);
  paid.push(...mine.map((one) => ({ ...one, hash })));
}

async function sendAnyway({ fixture: { node } }: Scene, instructions: TransactionInstruction[]) {
  const { payer } = node;
  const { value } = await node.raw<{ value: { blockhash: string } }>("getLatestBlockhash");
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: value.blockhash,
    instructions,
  }).compileToLegacyMessage();
  const transaction = new VersionedTransaction(message);
  transaction.sign([payer]);
  const how = { encoding: "base64", skipPreflight: true };
  return await node.rpc("sendTransaction", transaction.serialize().toBase64(), how);
}

function turn({ fixture: { node }, random, nodes }: Scene): void {
  for (const one of nodes) one.trick = () => undefined;
  if (random.chance(0.25)) {
    const lacks = random.pick(["getSignaturesForAddress", "getTokenAccountsByOwner"]);
    for (const one of random.chance(0.5) ? nodes : [random.pick(nodes)]) {
      one.trick = ({ method }) => {
        if (method === lacks) throw new NodeError(-32601, "Method not found");
      };
    }
    return;
  }
  if (random.chance(0.4)) return;
  const bad = random.pick(nodes);
  const wanted = random.pick([
    "getBlocks",
    "getBlock",
    "getTransaction",
    "getSignaturesForAddress",
    "getTokenAccountsByOwner",
    "getMultipleAccounts",
    "getSlot",
    "getSignatureStatuses",
  ]);
  const share = random.pick([1, 0.3]);
  bad.trick = async (question) => {
    if (question.method !== wanted || !random.chance(share)) return undefined;
    const told = await passOn(node.url, question) as { result?: unknown };
    return told.result === undefined ? undefined : distort(random, told.result);
  };
}

async function step(scene: Scene): Promise<void> {
  const { fixture: { node, realm, poller }, random, places } = scene;
  if (places.length < 10 && random.chance(0.3)) await addPlace(scene);
  for (let count = random.below(3); count > 0; count--) await pay(scene);
  if (random.chance(0.3)) turn(scene);
  if (random.chance(0.15)) await node.skip(1 + random.below(3));
  else if (random.chance(0.3)) await node.settle(1 + random.below(2));
  else await node.mine(1 + random.below(2));
  if (random.chance(0.5)) await makeDue(realm);
  if (random.chance(0.2)) {
    using second = openTestPoller(realm);
    await Promise.all([poller.advance(), second.advance()]);
  } else if (random.chance(0.8)) await poller.follow();
}

for (const seed of seeds()) {
  Deno.test(`deposits on Solana by chance are credited once and in full (seed ${seed})`, async () => {
    const scene = await openScene(randomFrom(seed));
    await using fixture = scene.fixture;
    const { realm, node, poller } = fixture;
    try {
      for (let count = 0; count < STEPS; count++) await step(scene);
      for (const one of scene.nodes) one.trick = () => undefined;
      await settle(realm, async () => {
        await node.mine();
        await poller.follow();
      });
      await assertCredited(realm, {
        ...scene,
        assetOf: (contract) => contract === null ? "SOL" : "PYUSD_SOL",
        async heightOf(hash) {
          const how = { commitment: "confirmed", encoding: "json" };
          return (await node.raw<{ slot: number }>("getTransaction", hash, how)).slot;
        },
        decimals: { coin: 9, token: 6 },
      });
      deepEqual(await driftsOf(fixture), [["PYUSD_SOL", "0"], ["SOL", "0"]]);
    } finally {
      for (const one of scene.nodes) await one.abort();
    }
  });
}
