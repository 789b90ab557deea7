/** Questions to Tron, on a chain without new blocks. @module */
import { Interface } from "ethers";
import { openTron } from "../../../workers/chains/tron/chain.ts";
import { ENERGY_PRICE_MAX, FEE_LIMIT_MAX } from "../../../workers/chains/tron/networks.ts";
import type { Chain } from "../../../workers/chains/chain.ts";
import { TRC20, TRX, word } from "../../support/nodes/tron/client.ts";
import { newTronParty, richTron, toHex, type TronParty } from "../../support/nodes/tron/wallet.ts";
import {
  anything,
  type Probe,
  same,
  transfersAlone,
  type WorkerContext,
} from "../../support/lie_probes.ts";
import { scanned, watching } from "../conformance.ts";
import {
  observationProbes,
  openLyingChain,
  type Payments,
  requestProbes,
  type Scene,
  type Terms,
} from "../lying_chain.ts";
import { deployed, openTronPlay, pays, signed, type TronPlay } from "./fixture.ts";

const BATCHER = new Interface(["function payCoin(address[],uint256) payable"]);
/** Blocks of three seconds, so many that a transaction expires. */
const EXPIRE = 40;
const LAG = 2;

interface TronScene extends Scene {
  readonly payer: TronParty;
  readonly token: string;
}

/** A chain with payments of all kinds behind a node of two faces. */
export async function lyingTron(): Promise<WorkerContext & AsyncDisposable> {
  const play = await openTronPlay({ lag: LAG });
  const scene = await drive(play);
  const { payee, to, transfers } = scene;
  const terms: Terms = {
    watch: () => watching([payee]),
    block: to - 1,
    searched: transfers[0].hash,
    searchedBetween: anything,
    minedAt: to - LAG,
    dearest: FEE_LIMIT_MAX,
  };
  return openLyingChain({
    fixture: play,
    ask: async ({ method, params: [body] }) => {
      const init = { method: "POST", body: JSON.stringify(body) };
      return { result: await (await fetch(`${play.node.url}/${method}`, init)).json() };
    },
    kindOf: ({ method, params: [body] }) => {
      const { data = "" } = (body ?? {}) as { data?: string };
      return method.endsWith("triggerconstantcontract") ? `${method} ${data.slice(0, 8)}` : method;
    },
    probes: [
      ...observationProbes(scene, terms),
      ...heldProbes(scene, terms),
      ...requestProbes(scene, terms),
    ],
    open: (urls) => openTron("main", urls, { limits: { timeoutMs: 30_000 }, genesisHash: "any" }),
  });
}

async function drive(play: TronPlay): Promise<TronScene> {
  const { node, chain } = play;
  const [payer, payee] = [newTronParty(), newTronParty().address];
  const token = await deployed(node, "Tether");
  const batcher = await deployed(node, "Batcher");
  await node.fund(payer.address, 1_000n * TRX);
  const dead = await signed(chain, payer, pays(payer, payee, 2n * TRX));
  await node.mine(EXPIRE);
  const from = node.ledger.blocks.length;
  await node.pay(payee, 3n * TRX);
  await node.trigger(token, TRC20.encodeFunctionData("transfer", [word(toHex(payee)), 5n]));
  await node.trigger(token, TRC20.encodeFunctionData("transfer", [word(payer.hex), 9n]));
  await node.trigger(batcher, BATCHER.encodeFunctionData("payCoin", [[word(toHex(payee))], 4n]), {
    value: 4n,
  });
  const payments = await paid(play, payer, payee);
  const { height: to } = await chain.head();
  const blocks = await scanned(chain, from, to, watching([payee]));
  const transfers = blocks.flatMap((one) => one.transfers);
  const body = { ...dead.bytes, body: dead.plan.body };
  return { ...payments, dead: [body], payer, payee, token, from, to, transfers };
}

async function paid(
  { node, chain }: TronPlay,
  payer: TronParty,
  payee: string,
): Promise<Omit<Payments, "dead">> {
  const first = await signed(chain, payer, pays(payer, payee, TRX));
  await chain.broadcast(first.bytes);
  await node.mine(1 + LAG);
  const waiting = await signed(chain, payer, pays(payer, payee, TRX));
  await chain.broadcast(waiting.bytes);
  return {
    ...{ mined: [first.bytes], most: first.plan.fee, plan: waiting.plan },
    pending: [{ ...waiting.bytes, body: waiting.plan.body }],
  };
}

/** Questions about single blocks, about what addresses and contracts hold, and about prices. */
function heldProbes(
  { payer, payee, token, from, to }: TronScene,
  { watch }: Terms,
): Probe[] {
  const coins = { address: payee, contract: null };
  const holdings = [coins, { address: payee, contract: token }];
  const orders = {
    coins: pays(payer, richTron().address, 5n),
    tokens: pays(payer, richTron().address, 5n, token),
  };
  return [
    {
      name: "search of a block",
      ask: (chain) => chain.search({ height: from }, watch()),
      between: anything,
      alone: transfersAlone as Probe["between"],
    },
    { name: "balances", ask: (chain) => chain.balances(holdings, null), between: anything },
    { name: "a balance", ask: (chain) => chain.balance(coins, to), between: same },
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
    ...Object.entries(orders).map(([what, order]): Probe => ({
      name: `draft of ${what}`,
      ask: async (chain: Chain) => (await chain.draft(order, "fast")).fee.base,
      between: (fee) => within(fee as bigint),
      alone: (fee) => within(fee as bigint),
    })),
  ];
}

function within(fee: bigint): string | null {
  return fee <= FEE_LIMIT_MAX + 1_000n * ENERGY_PRICE_MAX + 50n * TRX ? null : `costs ${fee}`;
}
