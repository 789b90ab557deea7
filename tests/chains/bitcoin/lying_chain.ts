/** Questions to a UTXO chain, on a chain without new blocks. @module */
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import { COIN_TABLES } from "../../../workers/chains/bitcoin/networks.ts";
import type { Head, Transfer } from "../../../workers/chains/observations.ts";
import { pays, scanned, watching } from "../conformance.ts";
import {
  DEPTH,
  observationProbes,
  openLyingChain,
  payAllWays,
  requestProbes,
  type Scene,
  type Terms,
} from "../lying_chain.ts";
import {
  anything,
  checkedBetween,
  pooledOnly,
  type Probe,
  same,
  type WorkerContext,
} from "../../support/lie_probes.ts";
import { passOn, type Question } from "../../support/nodes/faulty_node.ts";
import { openLitecoindFixture, type UtxoFixture } from "./fixture.ts";

/** The transactions of the chain. */
interface CoinScene extends Scene {
  readonly head: Head;
  /** A coin that the payer had, and those that it has. */
  readonly spent: string;
  readonly gone: Transfer;
  readonly coins: readonly { readonly input: string; readonly amount: bigint }[];
}

/** A chain with payments of all kinds behind a node of two faces. */
export async function lyingCoins(): Promise<WorkerContext & AsyncDisposable> {
  const fixture = await openLitecoindFixture("LITECOIN");
  const scene = await drive(fixture);
  const { payee, from, transfers, spent } = scene;
  const { origin, username, password } = new URL(fixture.node.url);
  const authorization = `Basic ${btoa(`${username}:${password}`)}`;
  const terms: Terms = {
    watch: () => watching([payee], [spent]),
    block: from + 1,
    searched: transfers[0].hash,
    searchedBetween: same,
    minedAt: from + 1,
    // The cost of a thousand virtual bytes at the highest rate; a payment has fewer.
    dearest: COIN_TABLES.LITECOIN.rateMax,
  };
  return openLyingChain({
    fixture,
    ask: async (question) =>
      await passOn(origin, question, { authorization }) as Record<string, unknown>,
    kindOf,
    probes: [
      ...observationProbes(scene, terms),
      ...heldProbes(scene, terms),
      ...coinProbes(scene),
      ...planProbes(scene),
      ...requestProbes(scene, terms),
    ],
    open: (urls) => openCoins("LITECOIN", "regtest", urls, { limits: { timeoutMs: 10_000 } }),
  });
}

/** Tells apart what is asked by one method. */
export function kindOf({ method, params }: Question): string {
  const form = { getblock: params[1], getrawtransaction: params[1], estimatesmartfee: params[0] };
  return method in form ? `${method} ${form[method as keyof typeof form]}` : method;
}

async function drive(fixture: UtxoFixture): Promise<CoinScene> {
  const { chain, mine, pay, payer, party, amount, coins } = fixture;
  const { address: payee } = await party();
  const from = (await chain.head()).height + 1;
  await pay(payee, amount);
  await mine();
  const payments = await payAllWays(fixture, payer, payee, amount);
  const spent = payments.mined[0].inputs[0];
  const head = await chain.head();
  const blocks = await scanned(chain, from, head.height, watching([payee]));
  const earlier = await scanned(chain, from - 1, from - 1, watching([payer.address]));
  const gone = earlier.flatMap(({ transfers }) => transfers)
    .find(({ hash, index }) => `${hash}:${index}` === spent)!;
  return {
    ...{ ...payments, payer, payee, from, to: head.height, head, spent, gone },
    transfers: blocks.flatMap(({ transfers }) => transfers),
    coins: (await coins(payer.address)).map((coin) => ({
      input: `${coin.hash}:${coin.index}`,
      amount: coin.amount,
    })),
  };
}

/** Questions about the memory pool, about what was spent, and about what addresses hold. */
function heldProbes({ payer, payee, gone, coins }: CoinScene, { watch }: Terms): Probe[] {
  const inputs = coins.map(({ input }) => input);
  return [
    {
      name: "mempool",
      ask: (chain) => chain.mempool(watch()),
      between: pooledOnly as Probe["between"],
      alone: pooledOnly as Probe["between"],
    },
    {
      name: "recheck of what was spent",
      ask: (chain) => chain.recheck(gone, { depth: DEPTH }),
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
function coinProbes({ payer, payee, from, head, spent, coins }: CoinScene): Probe[] {
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

/** Questions about transactions that are to be made. */
function planProbes({ payer, payee, from, transfers, coins }: CoinScene): Probe[] {
  const own = coins.map(({ input, amount }) => {
    const [hash, index] = input.split(":");
    const place = { index: Number(index), height: from, parent: null };
    return { hash, address: payer.address, amount, ...place };
  });
  const available = { coins: own };
  const order = pays(payer, payee, transfers[0].amount);
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
  ];
}
