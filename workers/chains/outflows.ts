/** Sums of what a transaction moved from and to some addresses. @module */
import type { Contract } from "./observations.ts";
import type { Outflow, OutflowQuery } from "./outgoing.ts";

/** Value of one asset that went from one address to another; null for nobody's. */
export interface Movement {
  readonly from: string | null;
  readonly to: string | null;
  readonly contract: Contract;
  readonly amount: bigint;
}

/** Sums movements by asset: what our addresses lost in all, and what each of some others got in all. */
export function movedBy(moves: readonly Movement[], { own, to }: OutflowQuery): Outflow["assets"] {
  const assets = new Map<Contract, { lost: bigint; got: Map<string, bigint> }>();
  for (const move of moves) {
    const asset = assets.get(move.contract) ?? { lost: 0n, got: new Map<string, bigint>() };
    assets.set(move.contract, asset);
    const add = (address: string | null, amount: bigint) => {
      if (address === null) return;
      if (own.has(address)) asset.lost -= amount;
      else if (to.has(address)) asset.got.set(address, (asset.got.get(address) ?? 0n) + amount);
    };
    add(move.from, -move.amount);
    add(move.to, move.amount);
  }
  const named = [...assets].map(([contract, { lost, got }]) => ({
    ...{ contract, lost },
    got: [...got].filter(([, amount]) => amount > 0n).map(([to, amount]) => ({ to, amount }))
      .toSorted((one, other) => one.to < other.to ? -1 : 1),
  }));
  return named.filter(({ lost, got }) => lost !== 0n || got.length > 0)
    .toSorted((one, other) => `${one.contract}` < `${other.contract}` ? -1 : 1);
}
