/**
 * Deposits on Tron by chance: coins and tokens that transactions, contracts and failing calls pay, TRC-10, forks, skipped
 * slots, addresses handed out and linked meanwhile, two processes at once, and nodes that lag, keep no inner calls, or
 * distort an answer. In the end everything that the chain has is credited, once, and nothing else.
 */
import { deepEqual } from "node:assert/strict";
import { Interface } from "ethers";
import { type Random, randomFrom } from "../fuzz/random.ts";
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
import { TRC20, TRX, word } from "../support/nodes/tron/client.ts";
import { richTron, toHex } from "../support/nodes/tron/wallet.ts";
import type { TronSurface } from "../support/nodes/tron/surface.ts";
import { installTether, openTronRamp, type TronRamp } from "../support/tron_ramp.ts";

type Asset = "TRON" | "USDT_TRON";

/** A realm, the nodes that it asks, and what was paid to it. */
interface Scene {
  readonly fixture: TronRamp;
  readonly random: Random;
  readonly surfaces: readonly TronSurface[];
  readonly places: WatchedAddress<Asset>[];
  readonly paid: Paid[];
  readonly ramps: Record<Asset, string>;
  readonly contracts: { readonly tether: string; readonly batcher: string; readonly other: string };
}

const CALLS = new Interface([
  "function payCoin(address[],uint256) payable",
  "function payToken(address,address[],uint256)",
  "function payAndFail(address) payable",
  "function swallowFailure(address) payable",
]);
const STEPS = 40;

async function openScene(random: Random): Promise<Scene> {
  const surfaces: TronSurface[] = [];
  const fixture = await openTronRamp({
    lag: 3,
    urls: (node) => {
      surfaces.push(node, node.peer());
      if (random.chance(0.5)) surfaces.push(node.peer());
      return surfaces.map(({ url }) => url);
    },
  });
  const { node } = fixture;
  const tether = await installTether(node);
  const contracts = {
    tether,
    batcher: await node.deploy("Batcher"),
    other: await node.deployToken("PLN", 6),
  };
  const [coins, tokens] = [await fixture.ramp("TRON"), await fixture.ramp("USDT_TRON")];
  await node.fund(tokens.address, 5_000n * TRX);
  await node.grantAsset(richTron().address, "1000001", 10n ** 9n);
  const send = TRC20.encodeFunctionData("transfer", [word(toHex(contracts.batcher)), 10n ** 12n]);
  await node.trigger(tether, send);
  const places: WatchedAddress<Asset>[] = [
    { address: coins.address, asset: "TRON" },
    { address: tokens.address, asset: "USDT_TRON" },
  ];
  await fixture.mine(2);
  const ramps = { TRON: coins.id, USDT_TRON: tokens.id };
  return { fixture, random, surfaces, places, paid: [], ramps, contracts };
}

/** Hands an address out, or links one of somebody's. */
async function addPlace({ fixture, random, places, ramps }: Scene): Promise<void> {
  const asset = random.pick(["TRON", "USDT_TRON"] as const);
  if (random.chance(0.7)) {
    const { address } = await fixture.address(ramps[asset]);
    places.push({ address, asset });
    return;
  }
  const { send } = fixture.realm.admin;
  const { body: { id } } = await send("POST", "/v1/accounts", { type: "virtual", asset });
  const address = richTron(100 + places.length).address;
  const { status, text } = await send("POST", `/v1/accounts/${id}/assign/${address}`);
  if (status !== 200) throw new Error(text);
  places.push({ address, asset });
}

/** Pays some of the addresses in some way. */
async function pay(scene: Scene): Promise<void> {
  const { fixture: { node }, random, places, paid, contracts } = scene;
  const { tether, batcher, other } = contracts;
  const amount = BigInt(1 + random.below(5_000_000)) * (random.chance(0.5) ? 1n : 10n);
  const some = Array.from({ length: 1 + random.below(4) }, () => random.pick(places).address);
  const [first] = some;
  const words = some.map((one) => word(toHex(one)));
  const note = (hash: string, contract: string | null, to: readonly string[]) =>
    to.forEach((address) => paid.push({ hash, address, contract, amount }));
  const call = (name: string, values: unknown[], value = 0n) =>
    node.trigger(batcher, CALLS.encodeFunctionData(name, values), { value });
  const transfer = (to: string, units: bigint) =>
    TRC20.encodeFunctionData("transfer", [word(toHex(to)), units]);
  switch (random.below(10)) {
    case 0:
    case 1:
      return note(await node.pay(first, amount), null, [first]);
    case 2:
    case 3:
      return note(await node.trigger(tether, transfer(first, amount)), tether, [first]);
    case 4: {
      const value = amount * BigInt(some.length);
      return note(await call("payCoin", [words, amount], value), null, some);
    }
    case 5:
      return note(
        await call("payToken", [word(toHex(tether)), words, amount]),
        tether,
        some,
      );
    case 6:
      return void await call(
        random.pick(["payAndFail", "swallowFailure"]),
        [word(toHex(first))],
        amount,
      );
    case 7:
      return void await node.payAsset(first, "1000001", 1n + amount % 100n);
    case 8:
      return void await node.trigger(other, transfer(first, amount));
    default:
      // Nothing, and more than there is.
      return void await node.trigger(tether, transfer(first, random.pick([0n, 10n ** 30n])));
  }
}

/** Changes how nodes behave. */
function turn({ random, surfaces }: Scene): void {
  for (const one of surfaces) {
    one.trick = () => undefined;
    one.behind = 0;
    one.settings.savesInternals = true;
  }
  const bad = random.pick(surfaces);
  if (random.chance(0.3)) bad.behind = random.below(4);
  if (random.chance(0.3)) bad.settings.savesInternals = false;
  if (random.chance(0.4)) return;
  const path = random.pick([
    /getblockbynum/,
    /gettransactioninfobyblocknum/,
    /gettransactioninfobyid/,
    /gettransactionbyid/,
    /wallet\/getblock$/,
    /getaccount$/,
    /triggerconstantcontract/,
  ]);
  const share = random.pick([1, 0.3]);
  bad.trick = async (question) => {
    if (!path.test(question.path) || !random.chance(share)) return undefined;
    return distort(random, await question.honest());
  };
}

async function step(scene: Scene): Promise<void> {
  const { fixture: { node, realm, poller }, random, places } = scene;
  if (places.length < 12 && random.chance(0.25)) await addPlace(scene);
  for (let count = random.below(4); count > 0; count--) {
    await pay(scene).catch((error) => {
      // Of a fork only: the payer's balance may be gone.
      if (error?.name !== "Refusal") throw error;
    });
  }
  if (random.chance(0.3)) turn(scene);
  const { ledger } = node;
  const open = ledger.blocks.length - 1 - ledger.solid;
  if (open > 0 && random.chance(0.25)) {
    await node.reorganise(1 + random.below(open), () => random.chance(0.7));
  } else if (random.chance(0.2)) await node.mineAfter(1 + random.below(3));
  else await node.mine(1 + random.below(3));
  if (random.chance(0.5)) await makeDue(realm);
  if (random.chance(0.2)) {
    using second = openTestPoller(realm);
    await Promise.all([poller.advance(), second.advance()]);
  } else if (random.chance(0.8)) await poller.follow();
}

/** The height at which the chain has a transaction that did not fail. */
function heightOf({ fixture: { node: { ledger } } }: Scene, hash: string): number | null {
  const height = ledger.minedIn.get(hash);
  if (height === undefined) return null;
  const mined = ledger.blocks[height].processed.find(({ transaction }) => transaction.id === hash);
  return mined?.contractRet === "SUCCESS" ? height : null;
}

for (const seed of seeds()) {
  Deno.test(`deposits on Tron by chance are credited once and in full (seed ${seed})`, async () => {
    const scene = await openScene(randomFrom(seed));
    await using fixture = scene.fixture;
    const { realm, node, poller } = fixture;
    for (let count = 0; count < STEPS; count++) await step(scene);
    for (const one of scene.surfaces) {
      Object.assign(one, { trick: () => undefined, behind: 0 });
      one.settings.savesInternals = true;
    }
    await settle(realm, async () => {
      await node.mine();
      await poller.follow();
    });
    await assertCredited(realm, {
      ...scene,
      assetOf: (contract) => contract === null ? "TRON" : "USDT_TRON",
      heightOf: (hash) => Promise.resolve(heightOf(scene, hash)),
      decimals: { coin: 6, token: 6 },
    });
    deepEqual(await driftsOf(fixture), [["TRON", "0"], ["USDT_TRON", "0"]]);
  });
}
