/**
 * Gas of a transaction: what one node counts, and what as many nodes as the quorum count.
 * @module
 */
import { ChainError } from "../chain.ts";
import { DISAGREED } from "../dry_run.ts";
import type { Nodes, Peer } from "../node_pool.ts";
import type { Contract } from "../observations.ts";
import type { SendRequest } from "../outgoing.ts";
import type { Heard } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import { saidYes } from "./erc20.ts";
import { GAS_FEE_TOKEN, GAS_NATIVE } from "./fees.ts";
import { big, bytes, isCodeFault, isReverted, toHex } from "./node_answers.ts";

/** The call of a transaction that nodes try. */
export interface TriedCall {
  readonly to: string | null;
  /** Wei. */
  readonly value: bigint;
  readonly data: string;
  /** Whether everything leaves; in the asset of the fee, everything less the fee. */
  readonly all: boolean;
}

const GAS_PAY_MAX = 1_000_000n;
const GAS_DEPLOY_MAX = 6_000_000n;
/** Per cent of the node's estimate, because state may change before the block. */
const GAS_MARGIN = 110n;
/** Two counts of one call that differ by more are not of the same state. */
const APART_MAX = 2n;

/**
 * Asks nodes for the gas of a transaction, and gives their answers, first the one that counts: of three the middle, of
 * two the higher one, unless that is far above the other. Where others are out of reach, those that answer count, as they
 * do for prices: without the quorum nothing that is sent ends.
 *
 * @throws {ChainError} `held` where nodes disagree; `refused` and `insufficient` as the quorum says
 */
export async function agreedGas<T extends { readonly gas: bigint }>(
  { quorum, hear }: Nodes,
  work: (peer: Peer) => Promise<T>,
): Promise<[T, ...T[]]> {
  const tried = (peer: Peer): Promise<Tried<T>> =>
    work(peer).then((told) => ({ told, denial: null }), denialIn);
  const { heard } = await hear(
    tried,
    (some) => toldIn(some).length >= quorum || denialsIn(some).length >= quorum,
  );
  const denials = denialsIn(heard);
  const told = toldIn(heard).toSorted((one, other) =>
    one.gas < other.gas ? 1 : one.gas > other.gas ? -1 : 0
  );
  if (told.length < quorum && denials.length > 0) {
    throw denials.length >= quorum ? denials[0] : new ChainError("held", DISAGREED);
  }
  const at = Math.floor((told.length - 1) / 2);
  const isApart = told.length === 2 && told[0].gas > APART_MAX * told[1].gas;
  if (isApart) throw new ChainError("held", DISAGREED);
  return [told[at], ...told.toSpliced(at, 1)];
}

/** What one node says: its answer, or that it would not work. */
interface Tried<T> {
  readonly told: T | null;
  readonly denial: ChainError | null;
}

function toldIn<T>(heard: readonly Heard<Tried<T>>[]): T[] {
  return heard.flatMap(({ answer: { told } }) => told ?? []);
}

function denialsIn<T>(heard: readonly Heard<Tried<T>>[]): ChainError[] {
  return heard.flatMap(({ answer: { denial } }) => denial ?? []);
}

function denialIn(error: unknown): { told: null; denial: ChainError } {
  const denies = error instanceof ChainError &&
    (error.fault === "refused" || error.fault === "insufficient");
  if (!denies) throw error;
  return { told: null, denial: error };
}

/** The gas of a transaction that moves nothing. */
export function gasForNothing(feeToken: Contract): bigint {
  return GAS_NATIVE + (feeToken === null ? 0n : GAS_FEE_TOKEN);
}

/**
 * Asks a node for the gas of a transaction.
 *
 * @throws {ChainError} `refused` if it would fail, `insufficient` if its sender holds too little
 */
export async function gasFor(
  peer: Peer,
  order: SendRequest,
  tried: TriedCall,
  feeToken: Contract,
): Promise<bigint> {
  if (order.kind === "noop") return gasForNothing(feeToken);
  const { to, data } = tried;
  if (data === "0x" && bytes(await peer.call("eth_getCode", [to, "latest"])) === "0x") {
    return GAS_NATIVE;
  }
  // The fee of a sweep is deducted later, so the dry run carries 1 base unit.
  const value = tried.all && tried.value > 0n ? 1n : tried.value;
  const most = order.kind === "deploy" ? GAS_DEPLOY_MAX : GAS_PAY_MAX;
  // More is never spent, and code that loops takes no more of a node's time.
  const call = {
    ...{ from: order.from, to: to ?? undefined, data, value: toHex(value) },
    gas: toHex(most),
  };
  if (order.kind === "pay" && order.contract !== null) await tryTransfer(peer, call);
  const estimate = big(await attempted(() => peer.call("eth_estimateGas", [call])), "gas");
  const gas = (estimate * GAS_MARGIN) / 100n + (feeToken === null ? 0n : GAS_FEE_TOKEN);
  if (gas > most) throw refused(`it would take ${gas} gas, at most ${most} is spent`);
  return gas;
}

/** A token may refuse without reverting; the transaction would then cost a fee and move nothing. */
async function tryTransfer(peer: Peer, call: unknown): Promise<void> {
  const answer = bytes(await attempted(() => peer.call("eth_call", [call, "latest"])));
  if (!saidYes(answer)) throw refused("the token refuses the transfer");
}

async function attempted(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // A contract that reverts may say anything, also that funds are insufficient.
    if (!isReverted(error) && /insufficient (funds|balance)|out ?of ?funds/i.test(error.message)) {
      throw new ChainError("insufficient", error.message);
    }
    throw isCodeFault(error) ? refused(error.message) : error;
  }
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
