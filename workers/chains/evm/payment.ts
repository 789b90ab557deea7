/**
 * Turns a draft into signed bytes: the nonce, the price of a replacement, the signature, and a check
 * of the bytes. No node is asked here.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Draft, Inputs, Inspection, Keys, Plan, SendRequest, Signed } from "../outgoing.ts";
import { readCip64, signCip64 } from "./cip64.ts";
import type { Ethers, Evm } from "./context.ts";
import type { Body } from "./draft.ts";
import { readTransferCall, transferCall } from "./erc20.ts";
import { largest } from "./fees.ts";

/** A transaction read from its bytes. */
interface Decoded {
  readonly hash: string;
  readonly chainId: number;
  readonly from: string;
  readonly nonce: number;
  readonly to: string | null;
  readonly value: bigint;
  readonly data: string;
  readonly fee: bigint;
}

/** Nodes want a tenth more for a replacement, some an eighth. */
const BUMP = { times: 1125n, of: 1000n };

/** Gives a draft its nonce, and a replacement its price. */
export function planDraft(evm: Evm, draft: Draft, inputs: Inputs, replaces?: Plan): Plan {
  const drafted: Body = JSON.parse(draft.body);
  const { order } = draft;
  const prior: Body | null = replaces ? JSON.parse(replaces.body) : null;
  if (replaces && replaces.order.from !== order.from) throw refused("another sender's nonce");
  if (prior && prior.chainId !== drafted.chainId) throw refused("another chain's nonce");
  const nonce = prior?.nonce ?? inputs.nonce;
  if (nonce === undefined) throw refused("a nonce is needed");
  let [max, tip] = [BigInt(drafted.max), BigInt(drafted.tip)];
  const sweeps = drafted.all !== null && order.kind === "pay" && order.contract === null;
  if (prior) {
    max = largest(max, bumped(prior.max));
    // A sweep pays its whole bid.
    tip = sweeps || drafted.bids === "legacy" ? max : largest(tip, bumped(prior.tip));
    max = largest(max, tip);
  }
  if (max > BigInt(drafted.ceiling) || max > evm.table.gasPriceMax) {
    throw refused(`gas would cost ${max}, at most ${drafted.ceiling} is paid`);
  }
  const gas = BigInt(drafted.gas);
  const fee = gas * max;
  if (drafted.budget !== null && fee > BigInt(drafted.budget)) {
    throw new ChainError(
      "exceeded",
      `it would cost ${fee}, at most ${drafted.budget} may be spent`,
    );
  }
  const amount = amountOf(order, drafted, fee);
  const body: Body = {
    ...drafted,
    ...filled(order, amount),
    max: `${max}`,
    tip: `${tip}`,
    nonce,
  };
  const creates = order.kind === "deploy"
    ? evm.ethers.getCreateAddress({ from: order.from, nonce })
    : null;
  return {
    order,
    inputs: [`${order.from}:${nonce}`],
    signers: [order.from],
    amounts: amount === null ? [] : [amount],
    outputs: order.kind === "pay" && order.contract === null ? [-1] : null,
    change: null,
    fee,
    feeContract: drafted.feeToken,
    creates,
    body: JSON.stringify(body),
  };
}

/** Signs a plan and makes sure that the bytes carry out exactly this plan. */
export function signPlan(evm: Evm, plan: Plan, keys: Keys): Signed {
  const body: Body = JSON.parse(plan.body);
  const [signer] = plan.signers;
  const key = keys.get(signer);
  if (!key) throw refused(`the key of ${signer} is missing`);
  const signing = new evm.ethers.SigningKey(key);
  if (evm.ethers.computeAddress(signing.publicKey) !== signer) {
    throw refused(`the key given is not that of ${signer}`);
  }
  const raw = encode(evm.ethers, body, signing);
  const decoded = decode(evm.ethers, raw);
  const fault = faultOf(plan, body, inspectDecoded(evm, decoded), decoded);
  if (fault) throw refused(`the signed bytes differ from the plan: ${fault}`);
  return { hash: decoded.hash, raw, inputs: plan.inputs, expires: null };
}

/**
 * Reads the effects of signed bytes. Of a call that no plan of ours makes they tell only the coins that it carries.
 *
 * @throws {ChainError} `refused` for bytes that are no signed transaction
 */
export function inspectRaw(evm: Evm, raw: string): Inspection {
  return inspectDecoded(evm, decode(evm.ethers, raw));
}

function amountOf(order: SendRequest, body: Body, fee: bigint): bigint | null {
  if (order.kind !== "pay") return null;
  const { amount } = order.payments[0];
  if (amount !== "all") return amount;
  const kept = order.contract === null || body.feeToken !== null ? fee : 0n;
  const left = BigInt(body.all ?? "0") - kept;
  if (left <= 0n) {
    throw new ChainError("insufficient", `${order.from} holds less than the fee of ${fee}`);
  }
  return left;
}

function filled(order: SendRequest, amount: bigint | null): Partial<Body> {
  if (order.kind !== "pay" || amount === null) return {};
  if (order.contract === null) return { value: `${amount}` };
  return { data: transferCall(order.payments[0].to, amount) };
}

function encode(ethers: Ethers, body: Body, key: InstanceType<Ethers["SigningKey"]>): string {
  const { chainId, to, data, nonce, feeToken } = body;
  if (nonce === null) throw refused("the plan has no nonce");
  const [value, gas, max, tip] = [body.value, body.gas, body.max, body.tip].map(BigInt);
  if (feeToken !== null) {
    if (to === null) throw refused("a contract's creation is paid in coins");
    return signCip64(ethers, { chainId, nonce, tip, max, gas, to, value, data, feeToken }, key);
  }
  const price = body.bids === "legacy"
    ? { type: 0, gasPrice: max }
    : { type: 2, maxFeePerGas: max, maxPriorityFeePerGas: tip };
  const fields = { chainId, nonce, to, value, data, gasLimit: gas, ...price };
  const transaction = ethers.Transaction.from(fields);
  transaction.signature = key.sign(transaction.unsignedHash);
  return transaction.serialized;
}

function decode(ethers: Ethers, raw: string): Decoded {
  try {
    if (raw.startsWith("0x7b")) {
      const { gas, max, ...read } = readCip64(ethers, raw);
      return { ...read, fee: gas * max };
    }
    const read = ethers.Transaction.from(raw);
    const { hash, from } = read; // each time that they are read they are computed
    if (hash === null || from === null) throw new TypeError("not signed");
    return {
      hash,
      from,
      chainId: ethers.getNumber(read.chainId),
      nonce: read.nonce,
      to: read.to,
      value: read.value,
      data: read.data,
      fee: read.gasLimit * (read.maxFeePerGas ?? read.gasPrice ?? 0n),
    };
  } catch (error) {
    throw refused(`not a signed transaction: ${error instanceof Error ? error.name : "unknown"}`);
  }
}

function inspectDecoded(evm: Evm, decoded: Decoded): Inspection {
  const { hash, from, nonce, to, value, data, fee } = decoded;
  const { getAddress, getCreateAddress } = evm.ethers;
  const base = { hash, inputs: [`${from}:${nonce}`], from: [from], fee };
  if (to === null) return { ...base, payments: [], creates: getCreateAddress({ from, nonce }) };
  if (data === "0x") {
    const payments = value === 0n && to === from ? [] : [{ to, contract: null, amount: value }];
    return { ...base, payments, creates: null };
  }
  const call = readTransferCall(data);
  if (call === null || value !== 0n) {
    const payments = value === 0n ? [] : [{ to, contract: null, amount: value }];
    return { ...base, payments, creates: null, calls: to };
  }
  const payment = { to: getAddress(call.to), contract: getAddress(to), amount: call.amount };
  return { ...base, payments: [payment], creates: null };
}

/** Names the first difference between signed bytes and their plan, or null. */
function faultOf(plan: Plan, body: Body, seen: Inspection, decoded: Decoded): string | null {
  const { order } = plan;
  if (decoded.chainId !== body.chainId) return "chain";
  if (seen.inputs.join() !== plan.inputs.join()) return "nonce or sender";
  if (seen.fee === null || seen.fee > plan.fee) return "fee";
  if (seen.creates !== plan.creates) return "contract";
  if (seen.calls !== undefined) return "call";
  if (order.kind === "deploy" && decoded.data !== body.data) return "code";
  const meant = order.kind === "pay" ? order.payments : [];
  if (seen.payments.length !== meant.length) return "number of payments";
  const wrong = seen.payments.some((payment, at) =>
    payment.to !== meant[at].to || payment.amount !== plan.amounts[at] ||
    order.kind !== "pay" || payment.contract !== order.contract
  );
  return wrong ? "payment" : null;
}

function bumped(price: string): bigint {
  return (BigInt(price) * BUMP.times + BUMP.of - 1n) / BUMP.of;
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
