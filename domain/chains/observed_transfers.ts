/** Value that arrived at an address, as chain adapters tell it. @module */

/** Value that arrived, as a chain adapter tells it; amount in base units. */
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
