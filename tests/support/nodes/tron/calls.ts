/**
 * Answers of the test's Tron node to calls that stay off the chain, and to transactions that are sent.
 * @module
 */
import { keccak256, toUtf8Bytes } from "ethers";
import { type Answer, type Body, bytesIn, numberOf, type View } from "./answers.ts";
import { type Ledger, push } from "./ledger.ts";
import { type Executed } from "./machine.ts";
import {
  packTransaction,
  PARAMETERS,
  parseTransaction,
  printTransaction,
  type Transaction,
  transactionOf,
} from "./messages.ts";
import { Refusal } from "./processing.ts";
import { encode, type Message } from "./protobuf.ts";
import { copyWorld } from "./world.ts";

/** Energy of a call off the chain (`vm.maxEnergyLimitForConstant`). */
const CONSTANT_ENERGY = 100_000_000n;

function hexOf(text: string): string {
  return new TextEncoder().encode(text).toHex();
}

/** A call that cannot be tried at all. */
function unusable(message: string): unknown {
  return { result: { code: "CONTRACT_VALIDATE_ERROR", message: hexOf(message) } };
}

function calledData(body: Body): string {
  const selector = body.function_selector;
  if (typeof selector !== "string" || selector === "") return bytesIn(body, "data");
  return keccak256(toUtf8Bytes(selector)).slice(2, 10) + bytesIn(body, "parameter");
}

interface DryRun {
  readonly executed: Executed;
  readonly transaction: Transaction;
}

/** Carries out a call on a copy of the state. Gives an answer instead where the call is unusable. */
async function attempt(
  { ledger, top, world }: View,
  body: Body,
): Promise<DryRun | { no: unknown }> {
  const caller = bytesIn(body, "owner_address");
  const target = bytesIn(body, "contract_address");
  const data = calledData(body);
  const value = numberOf(body, "call_value");
  if (!caller || !(target || data)) {
    const message = "class java.security.InvalidParameterException : owner_address isn't set.";
    return { no: { result: { code: "OTHER_ERROR", message: hexOf(message) } } };
  }
  if (target && !world.contracts.has(target)) {
    return { no: unusable("Smart contract is not exist.") };
  }
  if (value > (world.accounts.get(caller)?.balance ?? 0n)) {
    return { no: unusable("Validate InternalTransfer error, balance is not sufficient.") };
  }
  const parameter = { owner_address: caller, contract_address: target, data };
  const transaction = contextOf(parameter, top.id, top.timestamp);
  const limit = numberOf(body, "fee_limit") / ledger.parameters.getEnergyFee;
  const contract = target || `41${transaction.id.slice(24)}`;
  const executed = await ledger.machine.run(copyWorld(world), {
    caller,
    contract,
    value,
    data,
    energy: limit > 0n && limit < CONSTANT_ENERGY ? limit : CONSTANT_ENERGY,
    factor: ledger.factors.get(contract) ?? 0n,
    isNew: target === "",
    number: top.number,
    timestamp: top.timestamp,
    id: transaction.id,
  });
  if (executed.result === "SUCCESS" || executed.result === "REVERT") {
    return { executed, transaction };
  }
  const text = `class org.tron.core.vm.program.Program$Exception : ${executed.message}`;
  return { no: { result: { code: "OTHER_ERROR", message: hexOf(text) } } };
}

function contextOf(parameter: Message, block: string, timestamp: bigint): Transaction {
  const value = encode(PARAMETERS.TriggerSmartContract, parameter);
  const type_url = "type.googleapis.com/protocol.TriggerSmartContract";
  return transactionOf({
    ref_block_bytes: block.slice(12, 16),
    ref_block_hash: block.slice(16, 32),
    expiration: timestamp + 60_000n,
    timestamp,
    contract: [{ type: "TriggerSmartContract", parameter: { type_url, value } }],
  }, []);
}

/** A call that reverts is told by `message` and by the transaction's `ret`, not by `result`. */
export const triggerConstantContract: Answer = async (view, body) => {
  const tried = await attempt(view, body);
  if ("no" in tried) return tried.no;
  const { executed, transaction } = tried;
  const isFailed = executed.result !== "SUCCESS";
  return {
    result: { result: true, ...(isFailed && { message: hexOf(executed.message) }) },
    ...(executed.energy > 0n && { energy_used: executed.energy }),
    ...(executed.penalty > 0n && { energy_penalty: executed.penalty }),
    constant_result: [executed.returned],
    ...(executed.logs.length > 0 && { logs: executed.logs }),
    ...(executed.internals.length > 0 && { internal_transactions: executed.internals }),
    transaction: {
      ...printTransaction(transaction),
      ret: [isFailed ? { ret: "FAILED" } : {}],
      visible: false,
    },
  };
};

/** Answered where the node is set up for it. */
export const estimateEnergy: Answer = async (view, body, settings) => {
  if (!settings.estimates) return unusable("this node does not estimate energy");
  const tried = await attempt(view, body);
  if ("no" in tried) return tried.no;
  const { executed } = tried;
  if (executed.result !== "SUCCESS") {
    return { result: { code: "CONTRACT_EXE_ERROR", message: hexOf(executed.message) } };
  }
  return { result: { result: true }, energy_required: executed.energy };
};

async function taken(
  ledger: Ledger,
  transaction: Transaction,
): Promise<{ code: string; message: string } | null> {
  try {
    await push(ledger, transaction);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, message: error.message };
    throw error;
  }
}

/** `BroadcastServlet`: the code of success is a default and is left out. */
export const broadcastTransaction: Answer = async ({ ledger }, body) => {
  const transaction = packTransaction(body);
  const refused = await taken(ledger, transaction);
  if (!refused) return { result: true, txid: transaction.id };
  const { code, message } = refused;
  return { code, txid: transaction.id, message: hexOf(message) };
};

/** `BroadcastHexServlet`: the message is text, and nothing is left out. */
export const broadcastHex: Answer = async ({ ledger }, body) => {
  const transaction = parseTransaction(bytesIn(body, "transaction"));
  const refused = await taken(ledger, transaction);
  return {
    result: refused === null,
    code: refused?.code ?? "SUCCESS",
    message: refused?.message ?? "",
    transaction: JSON.stringify({ txID: transaction.id }),
    txid: transaction.id,
  };
};
