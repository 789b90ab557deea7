/** What the chain tells of transactions that own keys signed and the database lost. @module */

import type { OrderPurpose } from "../sending/order_purposes.ts";

/** A mined transaction that an own key signed. */
export interface FoundTransaction {
  readonly hash: string;
  readonly raw: string;
  readonly height: number;
  /** Whether it lies as deep as a payment must: until then its block may be lost to bytes that it replaced. */
  readonly deep: boolean;
  readonly inputs: readonly string[];
  /** The own address that signed it. */
  readonly from: string;
  /** All addresses of ours that signed it: what it pays to them came back. */
  readonly signers: readonly string[];
  /** Its fee in base units, if the bytes tell it. */
  readonly fee: bigint | null;
  /** Base units that coins of ours brought in where others' coins are spent beside them; null where all coins are ours. */
  readonly brought: bigint | null;
  /** Whether its bytes tell no plan: nothing can replace it, should its block be lost. */
  readonly unreadable: boolean;
  /** All its payments, change included. */
  readonly payments: readonly FoundPayment[];
  /** The contract that it calls as no plan of ours does; its payments are then what nodes tell that it moved. Null for none. */
  readonly calls: string | null;
  /**
   * How an operator says it is to be booked, where its bytes do not tell all that it does: as the payment of
   * withdrawals, or (of none) as a loss.
   */
  readonly stated?: { readonly withdrawals: readonly string[] };
  /** Whether nodes agree on all that it moved in a final block: it ends at once, as its bytes tell no later run. */
  readonly settled?: true;
  /** Its order, where that is of this database, and gave it up. */
  readonly late?: LateOrder;
  /** The token that it deployed, as its contract tells; null for none, or where there is no contract. */
  readonly deployed: FoundToken | null;
}

/** An order that gave up a transaction which was mined all the same. */
export interface LateOrder {
  readonly id: string;
  readonly ramp: string;
  readonly purpose: OrderPurpose;
  /** Withdrawals that it was to pay: of several alike these are meant first. */
  readonly withdrawals: readonly string[];
}

/** A deployed token; supply in base units as text. */
export interface FoundToken {
  readonly contract: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly supply: string;
}

/** A payment of a transaction; amount in base units. */
export interface FoundPayment {
  readonly to: string;
  readonly contract: string | null;
  readonly amount: bigint;
  /** How much of it addresses of ours lost, where a contract paid the rest of what it had before. */
  readonly ours?: bigint;
}
