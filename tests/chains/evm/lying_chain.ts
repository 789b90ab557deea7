/** Every question that the service has for an account chain, on a chain that stands still. @module */
import { openEvm } from "../../../workers/chains/evm/chain.ts";
import { EVM_TABLES } from "../../../workers/chains/evm/networks.ts";
import type { Plan, Signed } from "../../../workers/chains/outgoing.ts";
import type { Checked, Transfer } from "../../../workers/chains/observations.ts";
import { type Party, pays, scanned, signed, watching } from "../conformance.ts";
import { CALLS } from "../../support/nodes/anvil.ts";
import {
  anything,
  checkedBetween,
  headBetween,
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
import { deployToken, type EvmFixture, newParty, openEvmFixture, paysToken } from "./fixture.ts";

const ETHER = 10n ** 18n;
const DEPTH = 2;

/** What was done on the chain. */
interface Scene {
  readonly payer: Party;
  /** Who was paid. */
  readonly payee: string;
  readonly token: string;
  /** Height before all of it, and of the newest block. */
  readonly from: number;
  readonly to: number;
  readonly transfers: readonly Transfer[];
  readonly mined: readonly Signed[];
  readonly most: bigint;
  readonly dead: readonly Signed[];
  readonly pending: readonly Signed[];
  /** Of what is pending. */
  readonly plan: Plan;
}

/** A chain with payments of all kinds behind a node of two faces. */
export async function lyingEvm(): Promise<WorkerContext & AsyncDisposable> {
  const fixture = await openEvmFixture();
  const scene = await drive(fixture);
  const ask = async (question: Question) =>
    await passOn(fixture.anvil.url, question) as Record<string, unknown>;
  const node = startLyingNode(ask, kindOf, { remember: true });
  return {
    node,
    probes: [...observationProbes(scene), ...requestProbes(scene)],
    open: (urls) => openEvm("ETHEREUM", "main", urls, { limits: { timeoutMs: 10_000 } }),
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
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

async function drive(fixture: EvmFixture): Promise<Scene> {
  const { anvil, chain, mine } = fixture;
  const [payer, payee] = [newParty(), newParty().address];
  const token = await deployToken(fixture);
  const purse = await anvil.deploy("Batcher");
  await anvil.send({ to: payer.address, value: 5n * ETHER });
  const from = (await chain.head()).height + 1;
  await anvil.pool({ to: payee, value: ETHER });
  const [transfer, inside] = [
    CALLS.encodeFunctionData("transfer", [payee, 5n]),
    CALLS.encodeFunctionData("payCoin", [[payee], ETHER]),
  ];
  await anvil.pool({ to: token, data: transfer });
  await anvil.pool({ to: token, data: CALLS.encodeFunctionData("transfer", [payer.address, 9n]) });
  await mine();
  await anvil.send({ to: purse, value: ETHER, data: inside });
  const mined = await signed(fixture, payer, pays(payer, payee, ETHER));
  await chain.broadcast(mined.signed);
  await mine();
  const lost = await signed(fixture, payer, pays(payer, payee, 2n));
  const winner = await signed(
    fixture,
    payer,
    pays(payer, newParty().address, 3n),
    lost.plan as Plan,
  );
  await chain.broadcast(winner.signed);
  await mine(4);
  const pending = await signed(fixture, payer, pays(payer, payee, 4n));
  await chain.broadcast(pending.signed);
  const { height: to } = await chain.head();
  const watch = watching([payee]);
  const blocks = await scanned(chain, from, to, watch);
  const { hash } = (await anvil.rpc<{ transactions: { hash: string }[] }>(
    "eth_getBlockByNumber",
    `0x${(from + 1).toString(16)}`,
    true,
  )).transactions[0];
  const called = await chain.search({ hash }, watch);
  return {
    ...{ payer, payee, token, from, to, mined: [mined.signed], most: mined.plan.fee },
    ...{ dead: [lost.signed], pending: [pending.signed], plan: pending.plan as Plan },
    transfers: [...blocks.flatMap(({ transfers }) => transfers), ...called],
  };
}

/** Questions about what came. */
function observationProbes(scene: Scene): Probe[] {
  const { payer, payee, token, from, to, transfers } = scene;
  const inputs = [`${payer.address}:0`, `${payer.address}:1`];
  const watch = () => watching([payee], inputs);
  const coins = { address: payee, contract: null };
  const holdings = [coins, { address: payee, contract: token }];
  const inside = transfers.find(({ index }) => index === -2)!;
  const rechecks = transfers.map((one): Probe => ({
    name: `recheck of ${one.index} ${one.contract}`,
    ask: (chain) => chain.recheck(one, { depth: DEPTH, inBlock: one.amount, ever: 3n * ETHER }),
    between: checkedBetween as Probe["between"],
    alone: (answer) => receivedAtMost(answer as Checked | null, one.amount),
  }));
  return [
    { name: "head", ask: (chain) => chain.head(), between: headBetween as Probe["between"] },
    { name: "block", ask: (chain) => chain.block(to - 1), between: same },
    {
      name: "scan",
      ask: (chain) => scanned(chain, from, to, watch()),
      between: scannedBetween as Probe["between"],
      alone: scannedAlone as Probe["between"],
    },
    {
      name: "search of a transaction",
      ask: (chain) => chain.search({ hash: inside.hash }, watch()),
      between: anything,
      alone: transfersAlone as Probe["between"],
    },
    {
      name: "search of a block",
      ask: (chain) => chain.search({ height: inside.block!.height }, watch()),
      between: anything,
      alone: transfersAlone as Probe["between"],
    },
    ...rechecks,
    { name: "balances", ask: (chain) => chain.balances(holdings, null), between: anything },
    { name: "a balance", ask: (chain) => chain.balance(coins, to), between: same },
    { name: "counts", ask: (chain) => chain.counts([payee, payer.address], to), between: anything },
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
  if (answer === null || (answer.received >= 0n && answer.received <= answer.transfer.amount)) {
    return null;
  }
  return `received ${answer.received} of ${amount}`;
}

/** Questions about what leaves. */
function requestProbes(scene: Scene): Probe[] {
  const { payer, payee, token, from, to, mined, most, dead, pending, plan } = scene;
  const [{ hash }] = mined;
  const statuses = { mined, dead, pending };
  const budget = { contract: null, units: 4n * most };
  const dearest = 21_000n * EVM_TABLES.ETHEREUM.gasPriceMax;
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
    ...[false, true].map((cancels): Probe => ({
      name: `another price of what was signed${cancels ? ", for nothing" : ""}`,
      ask: async (chain) => {
        const how = { speed: "fast" as const, budget: cancels ? null : budget, cancels };
        return chain.plan(await chain.redraft(plan, how), { nonce: null, coins: [] }, plan).fee;
      },
      between: (fee, truth) => (fee as bigint) <= (truth as bigint) ? null : `costs ${fee}`,
      alone: (fee) => (fee as bigint) <= (cancels ? dearest : budget.units) ? null : `costs ${fee}`,
    })),
    {
      name: "quote",
      ask: (chain) => chain.quote(null),
      between: pricesBetween,
      alone: pricesAlone(dearest),
    },
    { name: "quote of a token", ask: (chain) => chain.quote(token), between: anything },
    {
      name: "nonces",
      ask: (chain) => chain.nonces(payer.address),
      between: (answer, truth) => {
        const [told, known] = [answer, truth] as { mined: number }[];
        return told.mined <= known.mined ? null : `${told.mined} are mined`;
      },
    },
    {
      name: "bytes",
      ask: (chain) => chain.raw({ hash, height: from }),
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
    {
      name: "counts of old blocks",
      ask: (chain) => chain.counts([payer.address], to - 1),
      between: anything,
    },
  ];
}
