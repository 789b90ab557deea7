/**
 * Plans of signed transactions that were made elsewhere, out of their bytes alone: whoever replaces them makes
 * the same call from the same nonce.
 * @module
 */
import type { Plan, SendRequest } from "../outgoing.ts";
import type { Evm } from "./context.ts";
import { readCip64 } from "./cip64.ts";
import { type Body, readDeployData } from "./draft.ts";
import { inspectRaw } from "./payment.ts";

/** What a replacement keeps of a transaction, or raises. */
type Terms = Pick<Body, "chainId" | "bids" | "to" | "value" | "data" | "nonce" | "feeToken"> & {
  readonly gas: bigint;
  readonly max: bigint;
  readonly tip: bigint;
};

/**
 * Reads the plan of signed bytes; null where they do what no plan of ours does, or are not for this chain alone: the
 * same key signs for several.
 */
export async function planOfSigned(
  evm: Evm,
  raw: string,
  { all }: { all: boolean },
): Promise<Plan | null> {
  const { inputs, from: [from], payments, creates, calls } = inspectRaw(evm, raw);
  if (calls !== undefined) return null;
  const read = termsOf(evm, raw);
  if (read === null || read.chainId !== await evm.nodes.chainId()) return null;
  const { gas, max, tip, ...terms } = read;
  const request = requestOf(evm, terms.data, { from, payments, creates });
  if (request === null) return null;
  const fee = gas * max;
  const [paid] = payments;
  const leavesNothing = all && paid !== undefined && paid.contract === terms.feeToken;
  const order: SendRequest = leavesNothing && request.kind === "pay"
    ? { ...request, payments: [{ to: paid.to, amount: "all" }] }
    : request;
  const body: Body = {
    ...terms,
    gas: `${gas}`,
    max: `${max}`,
    tip: `${tip}`,
    ceiling: `${max}`,
    budget: null,
    all: leavesNothing ? `${paid.amount + fee}` : null,
  };
  return {
    order,
    inputs,
    signers: [from],
    amounts: payments.map(({ amount }) => amount),
    outputs: paid !== undefined && paid.contract === null ? [-1] : null,
    change: null,
    fee,
    feeContract: terms.feeToken,
    creates,
    body: JSON.stringify(body),
  };
}

function requestOf(
  evm: Evm,
  data: string,
  { from, payments, creates }: {
    from: string;
    payments: ReturnType<typeof inspectRaw>["payments"];
    creates: string | null;
  },
): SendRequest | null {
  if (creates !== null) {
    const token = readDeployData(evm, data);
    return token === null ? null : { kind: "deploy", from, token };
  }
  if (payments.length === 0) return { kind: "noop", from };
  const [{ to, amount, contract }] = payments;
  return { kind: "pay", from, contract, payments: [{ to, amount }] };
}

/** Reads what a replacement keeps; null for blobs, authorizations and lists of accesses, which no plan of ours has. */
function termsOf({ ethers }: Evm, raw: string): Terms | null {
  if (raw.startsWith("0x7b")) {
    const signed = readCip64(ethers, raw);
    if (signed.accesses.length > 0) return null;
    const { chainId, to, value, data, nonce, feeToken, gas, max, tip } = signed;
    return { chainId, bids: "1559", to, value: `${value}`, data, nonce, feeToken, gas, max, tip };
  }
  const read = ethers.Transaction.from(raw);
  if (read.type! > 2 || (read.accessList ?? []).length > 0) return null;
  const { to, value, data, nonce, gasLimit, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = read;
  return {
    chainId: ethers.getNumber(read.chainId),
    ...{ to, value: `${value}`, data, nonce, feeToken: null },
    bids: maxFeePerGas === null ? "legacy" : "1559",
    gas: gasLimit,
    max: maxFeePerGas ?? gasPrice ?? 0n,
    tip: maxPriorityFeePerGas ?? gasPrice ?? 0n,
  };
}
