/**
 * Interface of one blockchain to the workers. Four families implement it (account chains with nonces,
 * coin chains, Solana, Tron); scanning, sweeps and sending are written once above it. Nothing here
 * knows a database, a realm or an asset code. Amounts are bigint base units
 * (satoshi, wei, lamport, sun); heights are block numbers (slots on Solana, where some are empty).
 *
 * A payment goes through `draft` (asks the node, reserves nothing), `plan` (pure: picks a nonce or
 * coins among those that the database offers, so it may run inside a transaction), `sign` (needs keys,
 * asks no node), and only when the signed bytes are stored, `broadcast` and `status`.
 * @module
 */
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainId } from "../../domain/assets.ts";
import type { CoinWitness } from "./coins.ts";
import type { NonceCounter } from "./nonces.ts";
import type { Speed } from "../../domain/speeds.ts";
import type {
  Broadcast,
  Budget,
  Draft,
  Fee,
  Inputs,
  Inspection,
  Keys,
  Outflow,
  OutflowQuery,
  Plan,
  Redraft,
  SendRequest,
  Signed,
  StatusQuery,
  TransactionStatus,
} from "./outgoing.ts";
import type {
  Balances,
  Block,
  Checked,
  Contract,
  Evidence,
  Head,
  Holding,
  Location,
  Scanned,
  TokenDetails,
  Transfer,
  WatchList,
} from "./observations.ts";

/** Properties of a chain. The code above decides by these, never by the chain's name. */
export interface Traits {
  /** Transactions spend coins. */
  readonly coins: boolean;
  /**
   * Payments that fit one transaction. Withdrawals share one only on chains with coins: elsewhere one
   * receiver can make it fail for all.
   */
  readonly paymentsMax: number;
  /** A transaction may be replaced by one with the same inputs. */
  readonly replaceable: boolean;
  /** Somebody other than the sender may pay the fee. */
  readonly feePayer: boolean;
  /**
   * Base units of the coin that an address keeps unless it keeps nothing: a transaction that leaves it with less
   * fails. 0n where any rest may stay.
   */
  readonly leastKept: bigint;
  /** Tokens can be deployed and read. */
  readonly tokens: boolean;
  /**
   * Blocks are reported before they are final, and a deposit counts only in a final one, at whatever
   * depth.
   */
  readonly finalOnly: boolean;
  /**
   * Nodes tell the newest balances alone, and those of earlier blocks are worked out from the transactions since, as an
   * index lists them: one that it lacks makes an earlier balance too high.
   */
  readonly derivedBalances: boolean;
  /**
   * Time limits of a transaction, on chains where it expires: these have neither coins nor nonces, so
   * only the proven expiry of one transaction permits another. Null where none expires.
   */
  readonly validity: Validity | null;
}

/** Limits of a transaction that expires; times in milliseconds. */
export interface Validity {
  /** The age of a plan up to which it is signed; an older one is given up, and made anew. */
  readonly signWithinMs: number;
  /**
   * The age of a transaction beyond which no final block can show it for the first time, by the clock of
   * the blocks and with a margin: a reconciliation waits for so long for transactions in flight.
   */
  readonly minedWithinMs: number;
  /** The same in blocks, where these limit a transaction, however slowly they are made; null where time alone does. */
  readonly minedWithinBlocks: number | null;
  /** Blocks by which the scanner may lie below the newest one while orders are planned, and given up: about a minute. */
  readonly scannedWithin: number;
}

/** Questions to a chain whose answers are compared between its nodes. */
export type Reader = Pick<Chain, "balances" | "nonces" | "rewards" | "search" | "spent">;

/** One chain on one network, behind one or more nodes that have proven to be of that network. */
export interface Chain {
  /** Which chain. */
  readonly id: ChainId;
  /** Which of its networks. */
  readonly network: Network;
  /** Properties that the code above may rely on. */
  readonly traits: Traits;
  /** How many of its nodes must agree before value moves. */
  readonly quorum: number;
  /** Reads single coins from its nodes; null on chains without coins. */
  readonly coins: CoinWitness | null;
  /** Counts nonces, whose gaps must be filled; null on chains without nonces. */
  readonly nonces: NonceCounter | null;

  /** Reads the newest block that as many nodes as the quorum have reached. */
  head(): Promise<Head>;
  /** Reads the block at a height; null if there is none there (above the head, or an empty slot). */
  block(height: number): Promise<Block | null>;
  /**
   * Reads every block of `from..to` (both included), oldest first, each with the transfers to us and
   * the inputs of ours. A block that the node should have and has not is `unavailable`: a lagging
   * node, no fork.
   *
   * @param by `index` reads by an index of the nodes alone: a node whose index lists too much, or nothing, tells no transfers.
   * `blocks` reads whole blocks alone, which lack nothing.
   */
  scan(from: number, to: number, watch: WatchList, by?: "index" | "blocks"): AsyncIterable<Scanned>;
  /**
   * Tells whether `scan` finds the transactions of so many blocks by an index of the nodes. An index may lag behind the
   * blocks of its node, and then hides what it lacks: a range that was read by one is read again later.
   */
  usesIndex(blocks: number, watch: WatchList): boolean;
  /**
   * Reads one transaction or block as deep as the node permits, calls inside contracts included, and a block without the
   * help of an index that may lack something.
   * With `enough`, calls are left out where the rest explains so many base units of the coin.
   */
  search(
    where: { hash: string } | { height: number },
    watch: WatchList,
    enough?: bigint,
  ): Promise<Transfer[]>;
  /** Tells what one node knows of a transaction: to show it to people, nothing is decided by it. */
  locate(hash: string): Promise<Location>;
  /** Reads transactions that wait to be mined; empty where the chain or its node does not show them. */
  mempool(watch: WatchList): Promise<Transfer[]>;
  /**
   * Reads a transfer again before it is credited, from as many nodes as the quorum demands; null if
   * they agree that the chain does not have it.
   * @throws {ChainError} `unavailable` while too few agree, `refused` if balances contradict it
   */
  recheck(transfer: Transfer, evidence?: Evidence): Promise<Checked | null>;
  /** Reads balances at a height, or at the head. */
  balances(holdings: readonly Holding[], height: number | null): Promise<Balances>;
  /** Reads the amount that the quorum confirms at least for each holding, at the head. */
  funds(holdings: readonly Holding[]): Promise<Balances>;
  /**
   * Reads a balance at a height from as many nodes as the quorum demands.
   * @throws {ChainError} `refused` if they contradict each other, `unavailable` if too few answer
   */
  balance(holding: Holding, height: number): Promise<bigint>;
  /** Reads balances at a height, each as {@link balance} does; the amounts in the order asked. */
  agreedBalances(holdings: readonly Holding[], height: number): Promise<readonly bigint[]>;
  /**
   * Adds up the value that left an address by its own transactions in the blocks above `from` up to
   * `to`.
   */
  spent(holding: Holding, from: number, to: number): Promise<bigint>;
  /**
   * Adds up the coins that an address got without a transaction in the blocks above `above` up to `upTo`; null on chains
   * where none comes so. They are never deposits.
   */
  readonly rewards: ((address: string, above: number, upTo: number) => Promise<bigint>) | null;
  /** The same chain through its nodes in another order, to compare their answers. */
  through(turn: number): Reader;
  /** The same chain through as many different nodes as the quorum, each by itself, those at rest last. */
  apart(turn: number): readonly Reader[];
  /** Tells where nodes contradicted each other in the last ten minutes. */
  reports(): string[];
  /** Prices a typical payment of a coin or token at each speed, without knowing the parties. */
  quote(contract: Contract): Promise<Record<Speed, Fee>>;

  /**
   * Tries an order and prices it; nothing is reserved and nothing is sent. With a budget, no plan
   * made of this draft can cost more, whatever code the destination runs.
   * @throws {ChainError} `refused` if it would fail, `insufficient` if the sender holds too little,
   * `exceeded` if it would likely cost more than its budget, `held` if nodes do not agree on that
   */
  draft(order: SendRequest, speed: Speed, budget?: Budget | null): Promise<Draft>;
  /**
   * Prices the replacement of an earlier plan: the same order once more, or a transaction without value.
   * It does not ask nodes whether the order would work: a signed transaction has to be mined or replaced,
   * whatever nodes answer about its destination.
   * @throws {ChainError} `exceeded` if it would likely cost more than its budget
   */
  redraft(replaces: Plan, how: Redraft): Promise<Draft>;
  /**
   * Builds the transaction from the offered nonce and coins. Pure: asks no node and may run in a database
   * transaction. With `replaces`, takes over that plan's inputs (at least one coin, or the nonce)
   * at a price of at least a tenth more, as nodes demand of a replacement.
   * @throws {ChainError} `insufficient` if the coins do not suffice, `refused` beyond a fee cap,
   * `exceeded` beyond the draft's budget, `unsupported` if the chain replaces nothing
   */
  plan(draft: Draft, inputs: Inputs, replaces?: Plan): Plan;
  /**
   * Signs, checks the result against the plan, and forgets the keys. No node is asked. The same
   * plan gives the same bytes.
   * @throws {ChainError} `refused` if a key is missing or is not its address's key
   */
  sign(plan: Plan, keys: Keys): Promise<Signed>;
  /** Reads the effects of signed bytes; the signer compares them with the plan. */
  inspect(raw: string): Promise<Inspection>;
  /**
   * Reads the plan of signed bytes that were made elsewhere, as far as a replacement needs it: it makes the same
   * payments from the same inputs. No node is asked. Null where the bytes do not tell it, or the chain replaces
   * nothing.
   *
   * @param how.all whether its payment was all that the sender held: a higher fee then makes it smaller
   */
  planOf(signed: Signed, how: { all: boolean }): Promise<Plan | null>;
  /** Reads the signed bytes of a mined transaction; bytes of another hash are not believed. */
  raw(mined: { hash: string; height: number }): Promise<string>;
  /**
   * Reads what a transaction in a final block moved that {@link inspect} cannot read, as as many nodes as the quorum
   * tell. Null where bytes always tell it, or nothing does.
   * @throws {ChainError} `unavailable` where nodes disagree, `refused` where nodes do not tell it
   */
  readonly outflow: ((hash: string, of: OutflowQuery) => Promise<Outflow>) | null;
  /** Sends signed bytes to every node. Never throws for a node's answer; safe to repeat. */
  broadcast(signed: Signed): Promise<Broadcast>;
  /** Reads the status of an order, by every attempt that was ever signed for it. */
  status(query: StatusQuery): Promise<TransactionStatus>;

  /**
   * Reads a token's own description; null if no contract lives at that address. With a height, it is
   * that of the block, and the quorum agrees on the supply too.
   */
  token(contract: string, height?: number): Promise<TokenDetails | null>;
  /** Ends every call in flight; they fail as `unavailable`. */
  close(): void;
}

/** Why a request to a chain failed. */
export type ChainFault =
  | "unavailable" // no node gave a valid answer; the same call may pass later
  | "wrong_chain" // the node is of another chain or network
  | "refused" // the order cannot work as it stands
  | "insufficient" // the sender holds too little
  | "held" // a stop, a freeze, nodes that disagree or the like keep it from being signed
  | "exceeded" // it would cost more than its budget
  | "unsupported"; // this chain does not have the feature

/** A failure with a fault that the code above can act on. Messages hold no keys and no credentials. */
export class ChainError extends Error {
  /** Tells it apart from other errors. */
  override readonly name = "ChainError";

  /** Milliseconds after which the node wants to be asked again; null where it does not say. */
  readonly retryAfterMs: number | null;

  /** Makes a failure. */
  constructor(
    readonly fault: ChainFault,
    message: string,
    options?: ErrorOptions & { retryAfterMs?: number | null },
  ) {
    super(message, options);
    this.retryAfterMs = options?.retryAfterMs ?? null;
  }
}

/**
 * A contract that does not tell balances: no node is at fault, and any would answer the same. It is `held` where a node that
 * is busy, or has not read so far, would say so of an honest one as well.
 */
export class SilentTokenError extends ChainError {
  /** Makes a failure. */
  constructor(contract: string | null, fault: "refused" | "held" = "refused") {
    super(fault, `the contract ${contract} does not tell balances`);
  }
}
