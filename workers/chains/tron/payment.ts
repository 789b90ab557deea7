/**
 * Turns a draft into signed bytes: the signature, and a check of the bytes against the plan. No node is asked here.
 * @module
 */
import { ChainError } from "../chain.ts";
import { readTransferCall } from "../evm/erc20.ts";
import type { Draft, Inspection, Keys, Plan, Signed } from "../outgoing.ts";
import { toBase58Address } from "./address_forms.ts";
import type { Ethers, Tron } from "./context.ts";
import { readBody } from "./draft.ts";
import {
  createdBy,
  readSigned,
  type SignedTron,
  type TronRaw,
  writeRaw,
  writeSigned,
} from "./transaction.ts";

/** Makes the plan of a draft, which is whole already. Tron replaces no transaction. */
export function planDraft(tron: Tron, draft: Draft, replaces?: Plan): Plan {
  if (replaces !== undefined) {
    throw new ChainError("unsupported", "a transaction of Tron replaces no other");
  }
  const { order } = draft;
  const { raw, amount, fee } = readBody(draft.body);
  const creates = raw.contract.type === "CreateSmartContract"
    ? createdBy(tron.ethers, idOf(tron.ethers, writeRaw(raw)), raw.contract.owner)
    : null;
  return {
    order,
    inputs: [],
    signers: [order.from],
    amounts: amount === null ? [] : [amount],
    outputs: order.kind === "pay" && order.contract === null ? [-1] : null,
    change: null,
    fee,
    feeContract: null,
    creates: creates === null ? null : toBase58Address(tron.ethers, creates),
    body: draft.body,
  };
}

/** Signs a plan and makes sure that the bytes carry out exactly this plan. */
export function signPlan(tron: Tron, plan: Plan, keys: Keys): Signed {
  const { SigningKey, computeAddress } = tron.ethers;
  const [signer] = plan.signers;
  const key = keys.get(signer);
  if (!key) throw refused(`the key of ${signer} is missing`);
  const signing = new SigningKey(key);
  if (toBase58Address(tron.ethers, hexFormOf(computeAddress(signing.publicKey))) !== signer) {
    throw refused(`the key given is not that of ${signer}`);
  }
  const { raw: meant } = readBody(plan.body);
  const written = writeRaw(meant);
  const { r, s, v } = signing.sign(`0x${idOf(tron.ethers, written)}`);
  const signature = r.slice(2) + s.slice(2) + v.toString(16).padStart(2, "0");
  const raw = writeSigned(written, signature);
  const signed = readSigned(tron.ethers, raw);
  const fault = faultOf(plan, meant, inspectSigned(tron, signed), signed);
  if (fault !== null) throw refused(`the signed bytes differ from the plan: ${fault}`);
  return { hash: signed.id, raw, inputs: [], expires: { time: Number(meant.expiration) } };
}

/**
 * Reads the effects of signed bytes.
 *
 * @throws {ChainError} `refused` for bytes that no plan of ours makes, or that call an unknown method
 */
export function inspectRaw(tron: Tron, raw: string): Inspection {
  return inspectSigned(tron, readSigned(tron.ethers, raw));
}

function inspectSigned({ ethers }: Tron, { raw, id, signature }: SignedTron): Inspection {
  const { contract } = raw;
  const signer = signerOf(ethers, id, signature);
  if (signer !== contract.owner) throw refused("another key than the sender's signed it");
  const base = { hash: id, inputs: [], from: [toBase58Address(ethers, signer)], fee: null };
  switch (contract.type) {
    case "CreateSmartContract": {
      const creates = toBase58Address(ethers, createdBy(ethers, id, contract.owner));
      return { ...base, payments: [], creates };
    }
    case "TransferContract": {
      const to = toBase58Address(ethers, contract.to);
      return {
        ...base,
        payments: [{ to, contract: null, amount: contract.amount }],
        creates: null,
      };
    }
    case "TriggerSmartContract": {
      const call = readTransferCall(`0x${contract.data}`);
      if (call === null) throw refused("the transaction calls something unknown");
      const payment = {
        to: toBase58Address(ethers, hexFormOf(call.to)),
        contract: toBase58Address(ethers, contract.contract),
        amount: call.amount,
      };
      return { ...base, payments: [payment], creates: null };
    }
  }
}

/** Names the first difference between signed bytes and their plan, or null. */
function faultOf(
  plan: Plan,
  meantRaw: TronRaw,
  seen: Inspection,
  { raw }: SignedTron,
): string | null {
  const { order } = plan;
  if (seen.from.join() !== order.from) return "sender";
  if (seen.creates !== plan.creates) return "contract";
  if (raw.feeLimit > plan.fee) return "fee";
  if (raw.expiration !== meantRaw.expiration) return "expiry";
  const meant = order.kind === "pay" ? order.payments : [];
  if (seen.payments.length !== meant.length) return "number of payments";
  const wrong = seen.payments.some((payment, at) =>
    payment.to !== meant[at].to || payment.amount !== plan.amounts[at] ||
    (meant[at].amount !== "all" && payment.amount !== meant[at].amount) ||
    order.kind !== "pay" || payment.contract !== order.contract
  );
  return wrong ? "payment" : null;
}

function signerOf({ recoverAddress }: Ethers, id: string, signature: string): string {
  try {
    return hexFormOf(recoverAddress(`0x${id}`, `0x${signature}`));
  } catch {
    throw refused("its signature is none");
  }
}

function idOf({ sha256 }: Ethers, raw: string): string {
  return sha256(`0x${raw}`).slice(2);
}

function hexFormOf(contractForm: string): string {
  return `41${contractForm.slice(2).toLowerCase()}`;
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
