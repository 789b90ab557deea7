/** Value that arrived at an address, as chain adapters report it. @module */

/** Value that arrived, as a chain adapter reports it; amount in base units. */
export interface SeenTransfer {
  readonly hash: string;
  readonly index: number;
  readonly from: string | null;
  readonly to: string;
  readonly contract: string | null;
  readonly amount: bigint;
  readonly block: { readonly height: number; readonly hash: string } | null;
  readonly maturesAt: number | null;
}
