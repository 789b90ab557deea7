/**
 * A chain without new blocks, with payments of all kinds, behind a node that lies. A family of chains adds what
 * only it asks, and how its nodes are asked.
 * @module
 */
import type { Chain } from "../../workers/chains/chain.ts";
import type { Transfer, WatchList } from "../../workers/chains/observations.ts";
import type { Plan, Signed } from "../../workers/chains/outgoing.ts";
import { type Fixture, type Party, pays, scanned, signed } from "./conformance.ts";
import {
  blockBetween,
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
} from "../support/lie_probes.ts";
import { type Ask, startLyingNode } from "../support/lies.ts";
import type { Question } from "../support/nodes/faulty_node.ts";

/** Depth at which a transfer or a drop counts. */
export const DEPTH = 2;

/** Transactions of a payer: mined, dropped for another, and waiting. */
export interface Payments {
  readonly mined: readonly Signed[];
  readonly dead: readonly Signed[];
  readonly pending: readonly Signed[];
  /** The highest cost of the mined one. */
  readonly most: bigint;
  /** The plan of what is pending. */
  readonly plan: Plan;
}

/** The transactions of a chain. */
export interface Scene extends Payments {
  readonly payer: Party;
  /** The payee. */
  readonly payee: string;
  /** Height of the first block of all this, and of the newest. */
  readonly from: number;
  readonly to: number;
  readonly transfers: readonly Transfer[];
}

/** Parameters of the questions to every family. */
export interface Terms {
  readonly watch: () => WatchList;
  /** Height of a block that is asked for. */
  readonly block: number;
  /** The transaction that is searched for. */
  readonly searched: string;
  /** A search's report beside an honest node. */
  readonly searchedBetween: Probe["between"];
  /** Block in which, or after which, the mined transaction stands. */
  readonly minedAt: number;
  /** The highest price that is ever bid for a payment. */
  readonly dearest: bigint;
  /** Evidence of transfers, and what a node alone may say of them. */
  readonly recheck?: (one: Transfer) => Pick<Probe, "alone"> & { inBlock: bigint; ever: bigint };
}

/** How the nodes of a family are asked, and by which questions. */
export interface Family {
  readonly fixture: AsyncDisposable;
  readonly ask: Ask;
  readonly kindOf: (question: Question) => string;
  readonly probes: readonly Probe[];
  readonly open: (urls: readonly string[]) => Promise<Chain>;
}

/** Puts a node of two faces before the node of a family. */
export function openLyingChain(
  { fixture, ask, kindOf, probes, open }: Family,
): WorkerContext & AsyncDisposable {
  const node = startLyingNode(ask, kindOf, { remember: true });
  return {
    ...{ node, probes, open },
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

/** Sends one payment that is mined, one that is dropped for another, and one that waits. */
export async function payAllWays(
  fixture: Pick<Fixture, "chain" | "available" | "mine" | "party">,
  payer: Party,
  payee: string,
  amount: bigint,
): Promise<Payments> {
  const { chain, mine, party } = fixture;
  const mined = await signed(fixture, payer, pays(payer, payee, amount));
  await chain.broadcast(mined.signed);
  await mine();
  const lost = await signed(fixture, payer, pays(payer, payee, 2n * amount));
  const { address } = await party();
  const winner = await signed(fixture, payer, pays(payer, address, amount), lost.plan);
  await chain.broadcast(winner.signed);
  await mine(4);
  const pending = await signed(fixture, payer, pays(payer, payee, amount));
  await chain.broadcast(pending.signed);
  return {
    ...{ mined: [mined.signed], most: mined.plan.fee, plan: pending.plan },
    ...{ dead: [withBody(lost)], pending: [withBody(pending)] },
  };
}

function withBody({ plan, signed }: { plan: Plan; signed: Signed }): Signed {
  return { ...signed, body: plan.body };
}

/** Questions about incoming transfers, which are asked of every family. */
export function observationProbes({ from, to, transfers }: Scene, terms: Terms): Probe[] {
  const { watch, block, searched } = terms;
  return [
    { name: "head", ask: (chain) => chain.head(), between: headBetween as Probe["between"] },
    {
      name: "block",
      ask: (chain) => chain.block(block),
      between: blockBetween as Probe["between"],
    },
    {
      name: "scan",
      ask: (chain) => scanned(chain, from, to, watch()),
      between: scannedBetween as Probe["between"],
      alone: scannedAlone as Probe["between"],
    },
    {
      name: "search of a transaction",
      ask: (chain) => chain.search({ hash: searched }, watch()),
      between: terms.searchedBetween,
      alone: transfersAlone as Probe["between"],
    },
    ...transfers.map((one): Probe => {
      const { alone, ...evidence } = terms.recheck?.(one) ?? {};
      return {
        name: `recheck of ${one.hash} ${one.index} ${one.contract}`,
        ask: (chain) => chain.recheck(one, { depth: DEPTH, ...evidence }),
        between: checkedBetween as Probe["between"],
        alone,
      };
    }),
  ];
}

/** Questions about outgoing transactions, which are asked of every family. */
export function requestProbes(scene: Scene, { minedAt, dearest }: Terms): Probe[] {
  const { from, mined, most, dead, pending } = scene;
  return [
    {
      name: "quote",
      ask: (chain) => chain.quote(null),
      between: pricesBetween,
      alone: pricesAlone(dearest),
    },
    {
      name: "bytes",
      ask: (chain) => chain.raw({ hash: mined[0].hash, height: minedAt }),
      between: same,
      alone: same,
    },
    ...Object.entries({ mined, dead, pending }).map(([what, attempts]): Probe => ({
      name: `status of what is ${what}`,
      ask: (chain) => chain.status({ attempts, since: from, depth: DEPTH }),
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
