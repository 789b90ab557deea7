/**
 * Observations on a chain: blocks, incoming transfers, balances, tokens. Plain data, the same for every
 * family. Amounts are bigint base units (satoshi, wei, lamport, sun); heights are block
 * numbers (slots on Solana, where some are empty).
 * @module
 */

/** An address as the chain writes it in its canonical form (EIP-55, bech32, CashAddr with prefix). */
export type Address = string;

/** A token's contract or mint in canonical form; null is the chain's own coin. */
export type Contract = string | null;

/** A block that the chain holds at this moment. */
export interface Block {
  /** Number of the block or slot. */
  readonly height: number;
  /** Its id. */
  readonly hash: string;
  /** Id of the block below. */
  readonly parentHash: string;
  /** Unix seconds, as the block says. */
  readonly time: number;
  /** Its number among the blocks, where heights are those of slots, some of which are empty; only of the newest block. */
  readonly count?: number;
}

/** The newest block. */
export interface Head extends Block {
  /**
   * Height of the newest block that as many nodes as the quorum call final; null where fewer tell, and
   * on chains and networks where it is not asked for.
   */
  readonly finalized: number | null;
}

/**
 * Addresses, inputs and contracts that a scan searches for. Adapters index a list once: reuse it
 * between scans, and replace it on a change.
 */
export interface WatchList {
  /** Addresses where value may arrive. */
  readonly addresses: ReadonlySet<Address>;
  /** Coins we hold and nonces we reserved, as {@link Plan.inputs} writes them. */
  readonly inputs: ReadonlySet<string>;
  /** Tokens to look for; all others are ignored. Null looks for every token. */
  readonly contracts: ReadonlySet<string> | null;
}

/** Value that arrived at a watched address. Its identity is `(chain, network, hash, index)`. */
export interface Transfer {
  /** Transaction id. */
  readonly hash: string;
  /**
   * Place in the transaction, the same in whatever block it lands: output number, or number of the
   * log counted in the transaction, or account number (Solana); -1 is the value that the
   * transaction itself carries, and -2 all that calls inside it brought to the address, net: one
   * transfer for each address, however a node lists the calls.
   */
  readonly index: number;
  /** The sender, where that is one address; null for coins and newly made value. */
  readonly from: Address | null;
  /** The receiver. */
  readonly to: Address;
  /** The token, or null for the chain's coin. */
  readonly contract: Contract;
  /** Base units, always above 0. */
  readonly amount: bigint;
  /** Null while it is only in the mempool: shown, never counted. */
  readonly block: Block | null;
  /** Height from which it may be spent, where that is later than its block (coinbase, peg-out). */
  readonly maturesAt: number | null;
}

/** What a node knows of a transaction. */
export type Location =
  /** Of a coin that is spent, a node without an index knows nothing either. */
  | { readonly state: "unknown" | "pending" }
  | { readonly state: "failed" | "mined"; readonly height: number };

/** One block of a scan. */
export interface Scanned {
  /** The block read. */
  readonly block: Block;
  /** In the order of the block. */
  readonly transfers: readonly Transfer[];
  /**
   * Watched inputs that a transaction of this block used up, whether or not it is ours. On chains where
   * transactions expire (`Traits.validity`) every transaction that a watched address signed is in
   * it, failed ones included, with the input `address:hash`: nothing else shows that somebody else uses
   * our keys.
   */
  readonly consumed: readonly Consumed[];
}

/** Proof that a coin or nonce is gone, and through which transaction. */
export interface Consumed {
  /** As the watch list writes it. */
  readonly input: string;
  /** The transaction that used it up. */
  readonly hash: string;
  /** Whether fewer nodes than the quorum show it in the block: its signature proves who made it, and not that it is there. */
  readonly few?: true;
}

/** A transfer read again, with the gain that the address really had from it. */
export interface Checked {
  /** As it stands now. */
  readonly transfer: Transfer;
  /** At most `transfer.amount`; less where a token kept a part, 0n where it moved nothing. */
  readonly received: bigint;
  /** False where the node no longer has the balances that would prove `received`. */
  readonly proven: boolean;
}

/** Conditions that the chain must confirm before a transfer is credited. */
export interface Evidence {
  /** Blocks that each node must have on top of it, its own counted. */
  readonly depth?: number;
  /**
   * Base units of the chain's coin that came to the address in the block by our records, this
   * transfer included: the balance must have risen by as much, apart from the address's own spending.
   */
  readonly inBlock?: bigint;
  /** Base units of the chain's coin that calls brought the address in the block, as far as they are credited. */
  readonly called?: bigint;
  /** Base units of the chain's coin that came to the address so far, by our records. */
  readonly ever?: bigint;
}

/** One balance to read. */
export interface Holding {
  /** The address that holds it. */
  readonly address: Address;
  /** The asset held. */
  readonly contract: Contract;
  /**
   * Inputs of the coins known to be there, empty on account chains. Without them a coin chain
   * searches all coins that exist, which takes minutes and which not every node offers.
   */
  readonly coins?: readonly string[];
}

/** Balances at one height; `amounts` are in the order asked. */
export interface Balances {
  /** The height that they are of: the one asked, or the head where a chain knows only that. */
  readonly height: number;
  /** Base units. */
  readonly amounts: readonly bigint[];
}

/** Rights over a token that its mint gives to its issuer. Keys; null for none. */
export interface IssuerRights {
  /** May make more of it. */
  readonly mint: string | null;
  /** May move and destroy the tokens of any holder. */
  readonly permanentDelegate: string | null;
  /** May stop all transfers. */
  readonly pause: string | null;
  /** May end the mint, once nothing of it is left. */
  readonly close: string | null;
  /** The program that runs at each transfer. */
  readonly transferHook: string | null;
  /** Whether holders may move it in confidence: such amounts are not told, and not credited. */
  readonly confidentialTransfers: boolean;
}

/** A token as its contract describes itself. */
export interface TokenDetails {
  /** Canonical form. */
  readonly contract: string;
  /** Text by strangers, control characters removed and cut to 64: to show, never to identify by. */
  readonly symbol: string | null;
  /** In full, under the same caution. */
  readonly name: string | null;
  /** Null if the contract does not say, or says nonsense. */
  readonly decimals: number | null;
  /** Base units. */
  readonly supply: bigint | null;
  /** The key that may freeze balances; null for none, absent on chains where contracts decide that. */
  readonly freezeAuthority?: string | null;
  /** What else its issuer may do; absent on chains where contracts decide that. */
  readonly issuerRights?: IssuerRights;
}

/** Tells the newest height that is deep enough: `depth` 1 is the head itself. */
export function settledHeight(head: Head, depth: number | "finalized"): number {
  if (depth === "finalized") return head.finalized ?? -1;
  return head.height - depth + 1;
}

/** The fields of a transfer that was read again on which nodes must agree, as one text. */
export function keyOfChecked(checked: Checked | null): string {
  if (checked === null) return "none";
  const { transfer: { block, amount, from } } = checked;
  return [block?.hash, amount, from].join(" ");
}
