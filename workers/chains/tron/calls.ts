/**
 * Calls of contracts that a node tries and that change nothing. A call that
 * reverts is told by the transaction's `ret` and by a message, not by `result`.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { readNumber, readTransferLog } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import { plain } from "../rpc.ts";
import { toContractForm } from "./address_forms.ts";
import { askRecord, hexOf, messageOf, units } from "./node_answers.ts";

/** A log of a contract; all its parts are hexadecimal digits with `0x`. */
export interface TronLog {
  /** The contract, as contracts see addresses. */
  readonly address: string;
  /** Its indexed fields. */
  readonly topics: readonly string[];
  /** Its other fields. */
  readonly data: string;
}

/** A call that a node tried. */
export interface TriedCall {
  /** Why it failed, in the contract's words where it gave some; null if it worked. */
  readonly fault: string | null;
  /** Whether its code failed so, as it would at any node. */
  readonly isOfCode: boolean;
  /** Whether that may be for the node's lack of time. */
  readonly isOutOfTime: boolean;
  /** What it returned, as hexadecimal digits with `0x`. */
  readonly returned: string;
  /** Energy that it took. */
  readonly energy: bigint;
  /** Logs that it would write; null where the node does not tell. */
  readonly logs: readonly TronLog[] | null;
}

/** A call to try. Addresses are `41` and 40 hexadecimal digits; without a contract, `data` creates one. */
export interface CallToTry {
  readonly from: string;
  readonly contract: string | null;
  /** Hexadecimal digits. */
  readonly data: string;
}

/** Faults of a node, not of the call. */
const NODE_CODES =
  /^(SERVER_BUSY|NO_CONNECTION|NOT_ENOUGH_EFFECTIVE_CONNECTION|BLOCK_UNSOLIDIFIED)$/;
const NODE_MESSAGES = /does not support|not support(ed)? constant|timeout|timed out/i;
/** The code of a contract ended with a fault, whichever node runs it. */
const CODE_FAULT = /\bvm\.program\.Program\$/;
/** It took longer than a node lets it: a contract that loops, or any on a node that is busy. */
const OUT_OF_TIME = /OutOfTime|timeout/i;
/** First bytes of `Error(string)`. */
const ERROR_TEXT = "0x08c379a0";

/**
 * Lets a node try a call.
 *
 * @throws {ChainError} `unavailable` if it does not
 */
export async function tryCall(peer: Peer, { from, contract, data }: CallToTry): Promise<TriedCall> {
  const target = contract === null ? {} : { contract_address: contract };
  const body = { owner_address: from, ...target, data };
  const answer = await askRecord(peer, "wallet/triggerconstantcontract", body);
  const result = readRecord(answer.result, "a result");
  const message = result.message === undefined ? null : messageOf(result.message);
  if (result.result !== true) {
    const code = plain(String(result.code ?? "no code"));
    const why = message ?? code;
    const isOfCode = isCodeFault(why);
    if (NODE_CODES.test(code) || !isOfCode && NODE_MESSAGES.test(why)) {
      throw new ChainError("unavailable", `${peer.name} tries no call: ${why}`);
    }
    return {
      ...{ fault: why, isOfCode, isOutOfTime: isOfCode && isOutOfTime(why) },
      ...{ returned: "0x", energy: 0n, logs: null },
    };
  }
  const [first] = readList(answer.constant_result ?? []);
  const returned = `0x${hexOf(first, "what a call returned")}`;
  const failed = message !== null || isFailed(answer.transaction);
  return {
    fault: failed ? reasonOf(returned) ?? message ?? "it is reverted" : null,
    isOfCode: failed,
    isOutOfTime: false,
    returned,
    energy: units(answer.energy_used, "energy"),
    logs: answer.logs === undefined ? null : readLogs(answer.logs),
  };
}

/** Whether a node says that the code of a contract ended with a fault: the node is not at fault, and others answer alike. */
export function isCodeFault(message: string): boolean {
  return CODE_FAULT.test(message);
}

/** Whether such a fault is a lack of time, which a busy node may tell of any contract. */
export function isOutOfTime(message: string): boolean {
  return OUT_OF_TIME.test(message);
}

/** Has an order wait where its contract takes too long: it may pass on a node that is less busy. @throws {ChainError} `held` */
export function assertInTime({ fault, isOutOfTime }: TriedCall): void {
  if (isOutOfTime) throw new ChainError("held", `its contract takes too long: ${fault}`);
}

function isFailed(transaction: unknown): boolean {
  const [ret] = readList(readRecord(transaction ?? {}, "a transaction").ret ?? []);
  return ret !== undefined && (readRecord(ret, "a result").ret ?? "SUCESS") !== "SUCESS";
}

/** Reads logs as a node writes them: without `0x`, addresses without `41`. */
export function readLogs(answer: unknown): TronLog[] {
  return readList(answer).map((one) => {
    const log = readRecord(one, "a log");
    const topics = readList(log.topics ?? []).map((topic) => `0x${hexOf(topic, "a topic")}`);
    const address = hexOf(log.address, "an address").slice(-40).padStart(40, "0");
    return { address: `0x${address}`, topics, data: `0x${hexOf(log.data, "data")}` };
  });
}

/**
 * Tells whether logs show a token's transfer between two addresses; it may have kept a part.
 *
 * @param of contract, sender and receiver as `41` and 40 hexadecimal digits
 */
export function showTransfer(
  logs: readonly TronLog[],
  of: { readonly contract: string; readonly from: string; readonly to: string },
): boolean {
  return logs.some((log) => {
    const said = readTransferLog(log.topics, log.data);
    return log.address === toContractForm(of.contract) && said !== null &&
      said.from === toContractForm(of.from) && said.to === toContractForm(of.to);
  });
}

/** The text of `Error(string)`; null for other data. */
function reasonOf(returned: string): string | null {
  if (!returned.startsWith(ERROR_TEXT)) return null;
  const length = readNumber(`0x${returned.slice(74)}`);
  if (length === null || length > 200n) return null;
  const bytes = returned.slice(138, 138 + 2 * parseInt(`${length}`, 10)).match(/../g) ?? [];
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (pair) => parseInt(pair, 16)));
  return `it is reverted: ${plain(text)}`;
}
