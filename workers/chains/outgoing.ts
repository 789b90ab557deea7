/**
 * Outgoing transactions, from the order to its final status: plain data, the same for account chains,
 * coin chains, Solana and Tron. Amounts are bigint base units; signing and storing happen elsewhere.
 * @module
 */
import type { Speed } from "../../domain/speeds.ts";
import type { Address, Block, Contract } from "./observations.ts";

/** Fee of a transaction: `base + perInput × coins spent + perPayment × payments`. */
export interface Fee {
  /** The token that pays it; null, as nearly always, is the chain's own coin. */
  readonly contract: Contract;
  /** Base units, independent of the number of coins and payments. */
  readonly base: bigint;
  /** Base units for each coin spent. */
  readonly perInput: bigint;
  /** Base units for each payment. */
  readonly perPayment: bigint;
  /** The smallest payment that nodes pass on; below it is dust. */
  readonly least: bigint;
}

/** One receiver of a payment. */
export interface Payment {
  /** Canonical form. */
  readonly to: Address;
  /** Base units, or all that the source holds less the fee (then it is the only payment). */
  readonly amount: bigint | "all";
}

/** A token to create; the whole supply goes to the deployer. */
export interface NewToken {
  /** In full. */
  readonly name: string;
  /** In short. */
  readonly symbol: string;
  /** Places after the point. */
  readonly decimals: number;
  /** Base units. */
  readonly supply: bigint;
}

/** A transaction to send, before it is priced. */
export type SendRequest =
  | {
    readonly kind: "pay";
    readonly from: Address;
    readonly contract: Contract;
    /** At most {@link Traits.paymentsMax}. */
    readonly payments: readonly Payment[];
    /**
     * The address that pays the fee, where the chain allows another than the sender ({@link
     * Traits.feePayer}).
     */
    readonly feePayer?: Address;
    /** Whether token accounts that it empties stay open, where accounts can be closed for their rent. */
    readonly closesNothing?: boolean;
  }
  | { readonly kind: "deploy"; readonly from: Address; readonly token: NewToken }
  /**
   * Moves nothing: fills a nonce that no order will use, or cancels the transaction that it replaces. The
   * contract is the sender's token, which pays where the chain takes fees in it.
   */
  | { readonly kind: "noop"; readonly from: Address; readonly contract?: Contract };

/** The most that an order may cost. */
export interface Budget {
  /** The asset that it counts; null is the chain's own coin. */
  readonly contract: Contract;
  /** Base units. */
  readonly units: bigint;
}

/** Terms of a replacement that is priced without a dry run. */
export interface Redraft {
  readonly speed: Speed;
  /** The most that it may cost. */
  readonly budget: Budget | null;
  /** Whether it moves nothing. */
  readonly cancels: boolean;
}

/** An order that the node has tried and priced. Plain JSON but for bigints. */
export interface Draft {
  /** The order, with addresses in canonical form. */
  readonly order: SendRequest;
  /** The most it may cost. */
  readonly fee: Fee;
  /** The likely cost, if the next blocks are like the last, where that is less than `fee`. */
  readonly likely?: bigint;
  /** The address that pays the fee. */
  readonly feePayer: Address;
  /** Base units of the fee's asset that the payer lacks; 0n for none. */
  readonly lacking: bigint;
  /**
   * Base units of the moved asset in those accounts of the sender that it takes from, where it may have several: what
   * else is under way takes from the same.
   */
  readonly held?: bigint;
  /** Data of the chain family; opaque to the code above. */
  readonly body: string;
}

/** A coin that may be spent. */
export interface Coin {
  /** The transaction that made it. */
  readonly hash: string;
  /** Its output number. */
  readonly index: number;
  /** The address that owns it. */
  readonly address: Address;
  /** Base units. */
  readonly amount: bigint;
  /** Null while unconfirmed: only coins of our own transactions may be offered so. */
  readonly height: number | null;
  /** Fee and virtual size of the unconfirmed transaction that made it, so that a child pays for it. */
  readonly parent: { readonly fee: bigint; readonly vsize: number } | null;
}

/** The nonce and the coins that a plan may use up. The caller holds the locks on their rows. */
export interface Inputs {
  /** The next unused nonce of the sender, or the one to fill; absent for a replacement. */
  readonly nonce?: number;
  /** Free coins of the sender; absent on account chains. */
  readonly coins?: readonly Coin[];
}

/** A whole unsigned transaction, with all that it uses up. Plain JSON but for bigints. */
export interface Plan {
  /** The order that it carries out. */
  readonly order: SendRequest;
  /**
   * Inputs that this transaction uses up: `txid:vout` or `address:nonce`; empty on chains that replace
   * neither. Unique among open plans: two plans that share an input can never both be mined.
   */
  readonly inputs: readonly string[];
  /** Addresses whose keys must sign. */
  readonly signers: readonly Address[];
  /** Base units to each payment of the order, with "all" resolved. */
  readonly amounts: readonly bigint[];
  /** Output or log number that each payment gets, where it is known in advance. */
  readonly outputs: readonly number[] | null;
  /** The output that comes back to us, as a future coin. */
  readonly change: { readonly to: Address; readonly amount: bigint; readonly index: number } | null;
  /** The most it can cost, in base units of `feeContract`. */
  readonly fee: bigint;
  /** The token the fee is paid in, or null. */
  readonly feeContract: Contract;
  /** Virtual size where fees go by it; with `fee` it makes {@link Coin.parent} of the change. */
  readonly vsize?: number;
  /** Address of a deployed token. */
  readonly creates: Address | null;
  /** The unsigned transaction, encoded by the chain family; opaque to the code above. */
  readonly body: string;
}

/** Private keys by address, for one call of `sign`; the signer wipes them after it. */
export type Keys = ReadonlyMap<Address, Uint8Array>;

/**
 * The last point at which a chain takes a transaction: a block height (on Solana the height of blocks,
 * which is below that of slots), or milliseconds since 1970 by the clock of the chain's blocks.
 */
export type Expiry = { readonly height: number } | { readonly time: number };

/** A transaction ready to be sent. It is stored before it is broadcast, and never made again. */
export interface Signed {
  /** Known before the transaction is sent. */
  readonly hash: string;
  /** Hex or base64, as the node takes it. */
  readonly raw: string;
  /** As the plan has them. */
  readonly inputs: readonly string[];
  /** The last point at which the chain takes it; null: it does not expire. */
  readonly expires: Expiry | null;
  /** Its fee, where bytes and chain alone do not tell (coins): stored like the rest. */
  readonly fee?: bigint;
  /** The body of its plan, where it is at hand: the amounts of its coins, which the signatures cover. */
  readonly body?: string;
}

/** Effects of signed bytes, read from nothing but these bytes. */
export interface Inspection {
  /** Transaction id. */
  readonly hash: string;
  /** The inputs that it uses up. */
  readonly inputs: readonly string[];
  /** The addresses that signed it; those whose value moves come before one that only pays the fee. */
  readonly from: readonly Address[];
  /** Every payment out of the inputs, change included. */
  readonly payments: readonly {
    readonly to: Address;
    readonly contract: Contract;
    readonly amount: bigint;
  }[];
  /** The most it can cost; null where the bytes alone do not tell (coins). */
  readonly fee: bigint | null;
  /** Address of the contract that it creates, if any. */
  readonly creates: Address | null;
  /**
   * The contract that it calls as no plan of ours does, if any: its bytes tell the coins that it carries there,
   * and nothing else that the call moves.
   */
  readonly calls?: Address;
  /** Whether it pays scripts that are no address; `to` is then `script:` and the script in hexadecimal. */
  readonly unknown?: true;
  /** Whether it spends coins by scripts that no key of ours has. */
  readonly foreign?: true;
}

/** Whose gains and losses an outflow tells. */
export interface OutflowQuery {
  /** Addresses of ours. */
  readonly own: ReadonlySet<Address>;
  /** Others. */
  readonly to: ReadonlySet<Address>;
}

/** What a transaction in a final block took from us, whatever it does. Amounts in base units. */
export interface Outflow {
  /** The hash of its block. */
  readonly block: string;
  /** The addresses that signed it, which its bytes prove. */
  readonly from: readonly Address[];
  /** The chain's fee in its own coin, where an address of ours paid it; else 0n. */
  readonly fee: bigint;
  /** By asset: what ours lost in all beside the fee (below 0n: gained), and what others gained in all. */
  readonly assets: readonly {
    readonly contract: Contract;
    readonly lost: bigint;
    readonly got: readonly { readonly to: Address; readonly amount: bigint }[];
  }[];
}

/** Why a node would not take a transaction now. */
export type Obstacle =
  | "underpriced" // a higher fee may pass
  | "funds" // the sender cannot pay, at this moment
  | "consumed" // an input seems used up; perhaps by this very transaction: ask status()
  | "early" // a transaction it builds on is not there yet
  | "malformed" // a node says that these bytes can never be valid
  | "silent" // no node gave a valid answer
  | "other";

/** Result of a broadcast. It never proves that money may go back: only {@link TransactionStatus} does. */
export interface Broadcast {
  /** No value says "refused": a node that refuses may have passed the bytes on. */
  readonly outcome: "accepted" | "known" | "unknown";
  /** Why no node accepted it; null if one did. */
  readonly obstacle: Obstacle | null;
  /** The node's message, cut short, for people. */
  readonly detail: string | null;
}

/** Status of an order, by every transaction ever signed for the same inputs. */
export type TransactionStatus =
  /** No node knows any of them. Sending the same bytes again is right; paying again is not. */
  | { readonly state: "unseen" }
  | {
    readonly state: "pending";
    readonly hash: string;
    /** Some node knows none of them: sending the same bytes again is right. */
    readonly lacking?: boolean;
    /** Fewer nodes than the quorum say so. */
    readonly few?: boolean;
  }
  | {
    readonly state: "mined";
    readonly hash: string;
    readonly block: Block;
    /** 1 in the newest block; 0 while too few nodes say so. */
    readonly confirmations: number;
    /** Some node knows none of them. */
    readonly lacking?: boolean;
    /**
     * False while nodes that report a final block do not count its block as final. Always true where no
     * node is asked: there the depth alone counts.
     */
    readonly final: boolean;
    /** False if the chain took the fee and moved nothing (reverted, or the token refused). */
    readonly success: boolean;
    /** Base units of `feeContract`, as charged. */
    readonly fee: bigint;
    readonly feeContract: Contract;
    /** Base units of the chain's own coin that came back to the payer beside the fee; 0n if absent. */
    readonly refund?: bigint;
  }
  | DropStatus;

/** None of them can ever be mined: a new payment, or giving the money back, is safe. */
export type DropStatus =
  & {
    readonly state: "dropped";
    /** Height of the proof; at least `depth` blocks deep. */
    readonly height: number;
  }
  & (
    | {
      readonly proof: "consumed";
      /**
       * The transaction that used an input up, where the chain shows it. Its signature is proven to
       * be by our own key: if it belongs to no order, somebody else signs with that key. Only a coin of
       * somebody else, beside ours in a transaction that was found, is used up by a stranger's.
       */
      readonly by: string | null;
    }
    | {
      readonly proof: "expired";
      readonly by: null;
      /** The expiry of the last of them, on which nodes agree whose newest blocks differ. */
      readonly expiry: Expiry;
      /** The final point that the quorum has passed, in the unit of `expiry`: always above it. */
      readonly reached: number;
    }
  );

/** Parameters of a status query. */
export interface StatusQuery {
  /** Every transaction ever signed for the order, the oldest first. */
  readonly attempts: readonly Signed[];
  /** Height of the head when the first of them was signed. */
  readonly since: number;
  /** Depth that a proof of a drop needs, its own block counted. */
  readonly depth: number;
  /**
   * Whether a proof of a drop must also be of a block that the node calls final, if it reports one; true
   * unless given. A query whose answer only delays a payment need not wait for it.
   */
  readonly final?: boolean;
  /** Whether all configured nodes must say the same, instead of as many as the quorum. */
  readonly all?: boolean;
}

/** Adds up a fee for so many coins spent and payments made, in base units of its contract. */
export function feeOf(fee: Fee, inputs: number, payments: number): bigint {
  return fee.base + fee.perInput * BigInt(inputs) + fee.perPayment * BigInt(payments);
}

/** Writes a plan or draft as JSON text for the database; bigints become `{"n": "123"}`. */
export function writePlan(value: Plan | Draft): string {
  return JSON.stringify(value, (_, part) => typeof part === "bigint" ? { n: `${part}` } : part);
}

/** Reads the text that {@link writePlan} wrote. */
export function readPlan<T extends Plan | Draft = Plan>(text: string): T {
  return JSON.parse(text, (_, part) => isWritten(part) ? BigInt(part.n) : part);
}

function isWritten(part: unknown): part is { n: string } {
  return typeof part === "object" && part !== null && "n" in part && Object.keys(part).length === 1;
}
