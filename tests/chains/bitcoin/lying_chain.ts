/** Every question that the service has for a coin chain, on a chain that stands still. @module */
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import { COIN_TABLES } from "../../../workers/chains/bitcoin/networks.ts";
import type { Head, Transfer } from "../../../workers/chains/observations.ts";
import type { Plan, Signed } from "../../../workers/chains/outgoing.ts";
import { type Party, pays, scanned, signed, watching } from "../conformance.ts";
import {
  anything,
  checkedBetween,
  headBetween,
  pooledOnly,
  pricesAlone,
  pricesBetween,
  type Probe,
  same,
  scannedAlone,
  scannedBetween,
  sent,
  statusAlone,
  statusBetween,
  transfersAlone,
  type WorkerContext,
} from "../../support/lie_probes.ts";
import { startLyingNode } from "../../support/lies.ts";
import { passOn, type Question } from "../../support/nodes/faulty_node.ts";
import { openLitecoindFixture, type UtxoFixture } from "./fixture.ts";

const DEPTH = 2;

/** What was done on the chain. */
interface Scene {
  readonly payer: Party;
  /** Who was paid. */
  readonly payee: string;
  /** Height before all of it. */
  readonly from: number;
  readonly head: Head;
  readonly transfers: readonly Transfer[];
  readonly mined: readonly Signed[];
  readonly most: bigint;
  readonly dead: readonly Signed[];
  readonly pending: readonly Signed[];
  /** A coin that the payer had, and those that it has. */
  readonly spent: string;
  readonly gone: Transfer;
  readonly coins: readonly { readonly input: string; readonly amount: bigint }[];
}

/** A chain with payments of all kinds behind a node of two faces. */
export async function lyingCoins(): Promise<WorkerContext & AsyncDisposable> {
  const fixture = await openLitecoindFixture("LITECOIN");
  const scene = await drive(fixture);
  const { origin, username, password } = new URL(fixture.node.url);
  const authorization = `Basic ${btoa(`${username}:${password}`)}`;
  const ask = async (question: Question) =>
    await passOn(origin, question, { authorization }) as Record<string, unknown>;
  const node = startLyingNode(ask, kindOf, { remember: true });
  return {
    node,
    probes: [...observationProbes(scene), ...coinProbes(scene), ...requestProbes(scene)],
    open: (urls) => openCoins("LITECOIN", "regtest", urls, { limits: { timeoutMs: 10_000 } }),
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

/** Tells apart what is asked by one method. */
export function kindOf({ method, params }: Question): string {
  const form = { getblock: params[1], getrawtransaction: params[1], estimatesmartfee: params[0] };
  return method in form ? `${method} ${form[method as keyof typeof form]}` : method;
}

async function drive(fixture: UtxoFixture): Promise<Scene> {
  const { chain, mine, pay, payer, party, amount, coins } = fixture;
  const { address: payee } = await party();
  const from = (await chain.head()).height + 1;
  await pay(payee, amount);
  await mine();
  const mined = await signed(fixture, payer, pays(payer, payee, amount));
  await chain.broadcast(mined.signed);
  await mine();
  const spent = mined.signed.inputs[0];
  const lost = await signed(fixture, payer, pays(payer, payee, 2n * amount));
  const { address } = await party();
  const winner = await signed(fixture, payer, pays(payer, address, amount), lost.plan as Plan);
  await chain.broadcast(winner.signed);
  await mine(4);
  const pending = await signed(fixture, payer, pays(payer, payee, amount));
  await chain.broadcast(pending.signed);
  const head = await chain.head();
  const blocks = await scanned(chain, from, head.height, watching([payee]));
  const earlier = await scanned(chain, from - 1, from - 1, watching([payer.address]));
  const gone = earlier.flatMap(({ transfers }) => transfers)
    .find(({ hash, index }) => `${hash}:${index}` === spent)!;
  return {
    ...{ payer, payee, from, head, spent, gone },
    ...{ mined: [mined.signed], most: mined.plan.fee },
    ...{ dead: [withBody(lost)], pending: [withBody(pending)] },
    transfers: blocks.flatMap(({ transfers }) => transfers),
    coins: (await coins(payer.address)).map((coin) => ({
      input: `${coin.hash}:${coin.index}`,
      amount: coin.amount,
    })),
  };
}

function withBody({ plan, signed }: { plan: Plan; signed: Signed }): Signed {
  return { ...signed, body: plan.body };
}

/** Questions about what came. */
function observationProbes(scene: Scene): Probe[] {
  const { payer, payee, from, head, transfers, spent, coins } = scene;
  const watch = () => watching([payee], [spent]);
  const [{ hash }] = transfers;
  const inputs = coins.map(({ input }) => input);
  const rechecks = transfers.map((one, at): Probe => ({
    name: `recheck of payment ${at + 1}`,
    ask: (chain) => chain.recheck(one, { depth: DEPTH }),
    between: checkedBetween as Probe["between"],
  }));
  return [
    { name: "head", ask: (chain) => chain.head(), between: headBetween as Probe["between"] },
    { name: "block", ask: (chain) => chain.block(from + 1), between: same },
    {
      name: "scan",
      ask: (chain) => scanned(chain, from, head.height, watch()),
      between: scannedBetween as Probe["between"],
      alone: scannedAlone as Probe["between"],
    },
    {
      name: "mempool",
      ask: (chain) => chain.mempool(watch()),
      between: pooledOnly as Probe["between"],
      alone: pooledOnly as Probe["between"],
    },
    {
      name: "search of a transaction",
      ask: (chain) => chain.search({ hash }, watch()),
      between: same,
      alone: transfersAlone as Probe["between"],
    },
    ...rechecks,
    {
      name: "recheck of what was spent",
      ask: (chain) => chain.recheck(scene.gone, { depth: DEPTH }),
      between: checkedBetween as Probe["between"],
    },
    {
      name: "balances",
      ask: (chain) =>
        chain.balances([{ address: payer.address, contract: null, coins: inputs }], null),
      between: anything,
    },
    {
      name: "balances of unknown coins",
      ask: (chain) => chain.balances([{ address: payee, contract: null }], null),
      between: anything,
    },
  ];
}

/** Questions about coins. */
function coinProbes({ payer, payee, from, head, spent, coins }: Scene): Probe[] {
  const known = [...coins, { input: spent, amount: coins[0].amount }]
    .map((one) => ({ ...one, address: payer.address }));
  return [
    {
      name: "states of coins",
      ask: (chain) => chain.coins!.confirm(known, head),
      between: (answer, truth) => {
        if (answer === null) return null;
        const [told, true_] = [answer, truth] as string[][];
        const wrong = told.find((one, at) => one !== "unclear" && one !== true_[at]);
        return wrong === undefined ? null : `${told} in place of ${true_}`;
      },
    },
    {
      name: "spenders",
      ask: (chain) => chain.coins!.spenders([spent], from, 0),
      between: (answer, truth) =>
        answer === null || (answer as ReadonlyMap<string, unknown>).size === 0
          ? null
          : same(answer, truth),
    },
    {
      name: "list of coins",
      ask: (chain) => chain.coins!.list([payee, payer.address], 0),
      between: anything,
    },
  ];
}

/** Questions about what leaves. */
function requestProbes(scene: Scene): Probe[] {
  const { payer, payee, from, mined, most, dead, pending, coins } = scene;
  const statuses = { mined, dead, pending };
  const own = coins.map(({ input, amount }) => {
    const [hash, index] = input.split(":");
    const place = { index: Number(index), height: from, parent: null };
    return { hash, address: payer.address, amount, ...place };
  });
  const available = { nonce: null, coins: own };
  const order = pays(payer, payee, scene.transfers[0].amount);
  return [
    {
      name: "draft",
      ask: async (chain) => (await chain.draft(order, "fast")).fee,
      between: anything,
    },
    {
      name: "plan of what gathers coins",
      ask: async (chain) => {
        const order = pays(payer, payer.address, "all");
        const plan = chain.plan(await chain.draft(order, "slow"), available);
        return { inputs: plan.inputs, left: plan.amounts[0] + plan.fee, fee: plan.fee };
      },
      between: (answer, truth) => {
        const [told, known] = [answer, truth] as { inputs: string[]; left: bigint; fee: bigint }[];
        if (told.fee > known.fee) return `costs ${told.fee}`;
        return same([told.inputs, told.left], [known.inputs, known.left]);
      },
    },
    {
      name: "quote",
      ask: (chain) => chain.quote(null),
      between: pricesBetween,
      // What a thousand virtual bytes cost at the highest rate; this is less.
      alone: pricesAlone(COIN_TABLES.LITECOIN.rateMax),
    },
    {
      name: "bytes",
      ask: (chain) => chain.raw({ hash: mined[0].hash, height: from + 1 }),
      between: same,
      alone: same,
    },
    ...Object.entries(statuses).map(([what, attempts]): Probe => ({
      name: `status of what is ${what}`,
      ask: (chain) => chain.status({ attempts: attempts, since: from, depth: DEPTH }),
      between: statusBetween as Probe["between"],
      alone: statusAlone(most) as Probe["between"],
    })),
    {
      name: "broadcast",
      ask: (chain) => chain.broadcast(pending[0]),
      between: sent as Probe["between"],
      alone: sent as Probe["between"],
    },
  ];
}
