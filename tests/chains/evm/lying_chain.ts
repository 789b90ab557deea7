/** Questions to an account chain, on a chain without new blocks. @module */
import { openEvm } from "../../../workers/chains/evm/chain.ts";
import { EVM_TABLES } from "../../../workers/chains/evm/networks.ts";
import type { Checked, Transfer } from "../../../workers/chains/observations.ts";
import { pays, scanned, watching } from "../conformance.ts";
import {
  observationProbes,
  openLyingChain,
  payAllWays,
  requestProbes,
  type Scene,
  type Terms,
} from "../lying_chain.ts";
import { CALLS } from "../../support/nodes/anvil.ts";
import {
  anything,
  type Probe,
  same,
  transfersAlone,
  type WorkerContext,
} from "../../support/lie_probes.ts";
import { passOn, type Question } from "../../support/nodes/faulty_node.ts";
import { deployToken, type EvmFixture, newParty, openEvmFixture, paysToken } from "./fixture.ts";

const ETHER = 10n ** 18n;
/** The highest price of a payment of coins. */
const DEAREST = 21_000n * EVM_TABLES.ETHEREUM.gasPriceMax;

/** The transactions of the chain. */
interface EvmScene extends Scene {
  readonly token: string;
  /** The payment that a contract made. */
  readonly inside: Transfer;
}

/** A chain with payments of all kinds behind a node of two faces. */
export async function lyingEvm(): Promise<WorkerContext & AsyncDisposable> {
  const fixture = await openEvmFixture();
  const scene = await drive(fixture);
  const { payer, payee, from, to, inside } = scene;
  const terms: Terms = {
    watch: () => watching([payee], [`${payer.address}:0`, `${payer.address}:1`]),
    block: to - 1,
    searched: inside.hash,
    searchedBetween: anything,
    minedAt: from,
    dearest: DEAREST,
    recheck: ({ amount }) => ({
      inBlock: amount,
      ever: 3n * ETHER,
      alone: (answer) => receivedAtMost(answer as Checked | null, amount),
    }),
  };
  return openLyingChain({
    fixture,
    ask: async (question) => await passOn(fixture.anvil.url, question) as Record<string, unknown>,
    kindOf,
    probes: [
      ...observationProbes(scene, terms),
      ...heldProbes(scene, terms),
      ...priceProbes(scene),
      ...requestProbes(scene, terms),
    ],
    open: (urls) => openEvm("ETHEREUM", "main", urls, { limits: { timeoutMs: 10_000 } }),
  });
}

/** Tells apart what is asked by one method. */
export function kindOf({ method, params }: Question): string {
  if (method === "eth_getBlockByNumber") {
    const tag = /^[a-z]/.test(String(params[0])) && !String(params[0]).startsWith("0x");
    return `${method} ${tag ? params[0] : "at"} ${params[1]}`;
  }
  const { data } = (params[0] ?? {}) as { data?: string };
  return method === "eth_call" ? `${method} ${data?.slice(0, 10)}` : method;
}

async function drive(fixture: EvmFixture): Promise<EvmScene> {
  const { anvil, chain, mine } = fixture;
  const [payer, payee] = [newParty(), newParty().address];
  const token = await deployToken(fixture);
  const purse = await anvil.deploy("Batcher");
  await anvil.send({ to: payer.address, value: 5n * ETHER });
  const from = (await chain.head()).height + 1;
  await anvil.pool({ to: payee, value: ETHER });
  const [transfer, payment] = [
    CALLS.encodeFunctionData("transfer", [payee, 5n]),
    CALLS.encodeFunctionData("payCoin", [[payee], ETHER]),
  ];
  await anvil.pool({ to: token, data: transfer });
  await anvil.pool({ to: token, data: CALLS.encodeFunctionData("transfer", [payer.address, 9n]) });
  await mine();
  await anvil.send({ to: purse, value: ETHER, data: payment });
  const payments = await payAllWays(fixture, payer, payee, ETHER);
  const { height: to } = await chain.head();
  const watch = watching([payee]);
  const blocks = await scanned(chain, from, to, watch);
  const { hash } = (await anvil.rpc<{ transactions: { hash: string }[] }>(
    "eth_getBlockByNumber",
    `0x${(from + 1).toString(16)}`,
    true,
  )).transactions[0];
  const called = await chain.search({ hash }, watch);
  const transfers = [...blocks.flatMap(({ transfers }) => transfers), ...called];
  const inside = transfers.find(({ index }) => index === -2)!;
  return { ...payments, payer, payee, token, from, to, transfers, inside };
}

/** Questions about single blocks, and about what addresses and contracts hold. */
function heldProbes(
  { payer, payee, token, from, to, inside }: EvmScene,
  { watch }: Terms,
): Probe[] {
  const coins = { address: payee, contract: null };
  const holdings = [coins, { address: payee, contract: token }];
  return [
    {
      name: "search of a block",
      ask: (chain) => chain.search({ height: inside.block!.height }, watch()),
      between: anything,
      alone: transfersAlone as Probe["between"],
    },
    { name: "balances", ask: (chain) => chain.balances(holdings, null), between: anything },
    { name: "a balance", ask: (chain) => chain.balance(coins, to), between: same },
    {
      name: "counts",
      ask: (chain) => chain.nonces!.countAt([payee, payer.address], to),
      between: anything,
    },
    {
      name: "what was spent",
      ask: (chain) => chain.spent({ address: payer.address, contract: null }, from, to),
      between: anything,
    },
    {
      name: "a token",
      ask: async (chain) => ({ ...await chain.token(token), supply: null }),
      between: same,
    },
    { name: "a token at a block", ask: (chain) => chain.token(token, to), between: same },
    {
      name: "funds",
      ask: async (chain) => (await chain.funds(holdings)).amounts,
      between: (answer, truth) => {
        const [told, known] = [answer, truth] as bigint[][];
        return known.some((one, at) => told[at] > one) ? `holds ${told}` : null;
      },
    },
  ];
}

function receivedAtMost(answer: Checked | null, amount: bigint): string | null {
  if (answer === null || (answer.received >= 0n && answer.received <= amount)) return null;
  return `received ${answer.received} of ${amount}`;
}

/** Questions about prices and nonces. */
function priceProbes({ payer, payee, token, to, most, plan }: EvmScene): Probe[] {
  const budget = { contract: null, units: 4n * most };
  const orders = {
    coins: pays(payer, payee, 5n),
    "all coins": pays(payer, payee, "all"),
    tokens: paysToken(payer, token, payee, 5n),
  };
  return [
    ...Object.entries(orders).map(([what, order]): Probe => ({
      name: `draft of ${what}`,
      ask: async (chain) => (await chain.draft(order, "fast", budget)).fee.base,
      between: (fee) => (fee as bigint) <= budget.units ? null : `costs ${fee}`,
      alone: (fee) => (fee as bigint) <= budget.units ? null : `costs ${fee}`,
    })),
    ...Object.entries(orders).map(([what, order]): Probe => ({
      name: `gas for ${what}`,
      ask: async (chain) => BigInt(JSON.parse((await chain.draft(order, "fast")).body).gas),
      between: (gas, truth) => (gas as bigint) >= (truth as bigint) ? null : `${gas} gas`,
    })),
    ...[false, true].map((cancels): Probe => ({
      name: `another price of what was signed${cancels ? ", for nothing" : ""}`,
      ask: async (chain) => {
        const how = { speed: "fast" as const, budget: cancels ? null : budget, cancels };
        return chain.plan(await chain.redraft(plan, how), {}, plan).fee;
      },
      between: (fee, truth) => (fee as bigint) <= (truth as bigint) ? null : `costs ${fee}`,
      alone: (fee) => (fee as bigint) <= (cancels ? DEAREST : budget.units) ? null : `costs ${fee}`,
    })),
    { name: "quote of a token", ask: (chain) => chain.quote(token), between: anything },
    {
      name: "nonces",
      ask: (chain) => chain.nonces!.count(payer.address),
      between: (answer, truth) => {
        const [told, known] = [answer, truth] as { mined: number }[];
        return told.mined <= known.mined ? null : `${told.mined} are mined`;
      },
    },
    {
      name: "counts of old blocks",
      ask: (chain) => chain.nonces!.countAt([payer.address], to - 1),
      between: anything,
    },
  ];
}
