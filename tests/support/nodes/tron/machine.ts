/**
 * Contracts of the test's Tron chain, carried out by the virtual machine of `@ethereumjs/evm`. Energy
 * is the gas of the Cancun rules without the 21,000 of an Ethereum transaction: the TVM's own prices
 * differ a little, its rules for a call that fails do not. A failed call gives back what is left of
 * its energy only after REVERT (`VMActuator.execute` in java-tron).
 * @module
 */
import { createEVM, type EVM, type EVMResult, type Message as Frame } from "@ethereumjs/evm";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createZeroAddress } from "@ethereumjs/util";
import type { ContractResult } from "./messages.ts";
import { sha256Hex } from "./messages.ts";
import type { Message } from "./protobuf.ts";
import {
  emptyAccount,
  machineAddress,
  tronAddress,
  type World,
  type WorldStore,
  worldStore,
} from "./world.ts";

/** A call of a contract, or its creation. */
export interface Invocation {
  readonly caller: string;
  readonly contract: string;
  readonly value: bigint;
  /** Hex; the bytecode where the contract is new. */
  readonly data: string;
  /** Energy that it may use at most. */
  readonly energy: bigint;
  /** Ten-thousandths added to the energy of a busy contract (`energy_factor`). */
  readonly factor: bigint;
  readonly isNew: boolean;
  readonly number: bigint;
  /** Milliseconds. */
  readonly timestamp: bigint;
  /** Id of the transaction, from which those of its inner calls are made. */
  readonly id: string;
}

/** Result of an invocation. */
export interface Executed {
  readonly result: ContractResult;
  /** Text of `resMessage`; empty after success. */
  readonly message: string;
  /** With the penalty. */
  readonly energy: bigint;
  readonly penalty: bigint;
  readonly returned: string;
  readonly logs: readonly Message[];
  readonly internals: readonly Message[];
}

/** A virtual machine. */
export interface Machine {
  /** Changes the world, unless the call fails. */
  run(world: World, invocation: Invocation): Promise<Executed>;
}

const FULL_FACTOR = 10_000n;
const CALL_NOTE = "63616c6c";
const CREATE_NOTE = "637265617465";

/** Outcome by the machine's error. */
const OUTCOMES: Readonly<Record<string, ContractResult>> = {
  "revert": "REVERT",
  "out of gas": "OUT_OF_ENERGY",
  "code store out of gas": "OUT_OF_ENERGY",
  "invalid opcode": "ILLEGAL_OPERATION",
  "invalid JUMP": "BAD_JUMP_DESTINATION",
  "stack underflow": "STACK_TOO_SMALL",
  "stack overflow": "STACK_TOO_LARGE",
};
const MESSAGES: Readonly<Partial<Record<ContractResult, string>>> = {
  REVERT: "REVERT opcode executed",
  OUT_OF_ENERGY: "Not enough energy for operation executing",
};

/** Starts a machine. */
export async function startMachine(): Promise<Machine> {
  let now = 0n;
  const store = worldStore(() => now);
  const evm = await createEVM({
    common: new Common({ chain: Mainnet, hardfork: Hardfork.Cancun }),
    stateManager: store,
    allowUnlimitedContractSize: true,
  });
  return {
    async run(world, invocation) {
      now = invocation.timestamp;
      return await execute(evm, store, world, invocation);
    },
  };
}

async function execute(
  evm: EVM,
  store: WorldStore,
  world: World,
  invocation: Invocation,
): Promise<Executed> {
  const { energy, factor } = invocation;
  store.use(world);
  const recorded = recordCalls(evm, invocation.id);
  const gasLimit = energy * FULL_FACTOR / (FULL_FACTOR + factor);
  const { execResult } = await call(evm, store, invocation, gasLimit);
  recorded.stop();
  await evm.journal.cleanup();
  replace(world, store.current());
  const failure = execResult.exceptionError?.error;
  const result = failure === undefined ? "SUCCESS" : OUTCOMES[failure] ?? "UNKNOWN";
  const used = execResult.executionGasUsed;
  const penalty = used * factor / FULL_FACTOR;
  const isAllSpent = result !== "SUCCESS" && result !== "REVERT";
  return {
    result,
    message: result === "SUCCESS" ? "" : MESSAGES[result] ?? String(failure),
    energy: isAllSpent ? energy : used + penalty,
    penalty,
    returned: execResult.returnValue.toHex(),
    logs: result === "SUCCESS" ? (execResult.logs ?? []).map(printLog) : [],
    internals: recorded.calls.map((one) => print(one, result !== "SUCCESS")),
  };
}

/** The address of a log has no 41 before it: `LogInfo.buildLog` in java-tron. */
function printLog([address, topics, data]: [Uint8Array, Uint8Array[], Uint8Array]): Message {
  return {
    address: address.toHex(),
    ...(topics.length > 0 && { topics: topics.map((one) => one.toHex()) }),
    ...(data.length > 0 && { data: data.toHex() }),
  };
}

async function call(
  evm: EVM,
  store: WorldStore,
  { caller, contract, value, data, isNew, number, timestamp }: Invocation,
  gasLimit: bigint,
): Promise<EVMResult> {
  const to = machineAddress(contract);
  const from = machineAddress(caller);
  const bytes = Uint8Array.fromHex(data);
  const block = {
    header: {
      number,
      coinbase: createZeroAddress(),
      timestamp: timestamp / 1000n,
      difficulty: 0n,
      prevRandao: new Uint8Array(32),
      gasLimit: 10n ** 15n,
      baseFeePerGas: 0n,
      getBlobGasPrice: () => 1n,
    },
  };
  const shared = { caller: from, to, value, gasLimit, block, skipNonceIncrement: true };
  if (!isNew) return await evm.runCall({ ...shared, data: bytes });
  // A new contract's address comes from the transaction, so its constructor runs as code of that
  // address, and the machine's own rule for new addresses is not used.
  await store.checkpoint();
  store.current().accounts.set(contract, { ...emptyAccount(timestamp) });
  const made = await evm.runCall({ ...shared, code: bytes, data: new Uint8Array(0) });
  const { execResult } = made;
  const stored = BigInt(execResult.returnValue.length) * 200n;
  if (!execResult.exceptionError && execResult.executionGasUsed + stored <= gasLimit) {
    await store.putCode(to, execResult.returnValue);
    await store.commit();
    execResult.executionGasUsed += stored;
  } else await store.revert();
  return made;
}

/** Puts the content of one world into another. */
function replace(world: World, by: World): void {
  if (world === by) return;
  for (const part of ["accounts", "contracts", "storage"] as const) {
    const target = world[part] as Map<string, unknown>;
    target.clear();
    for (const [key, value] of by[part]) target.set(key, value);
  }
}

interface InnerCall {
  readonly hash: string;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly note: string;
  rejected: boolean;
}

/** Writes down the calls inside a call; those of a frame that fails are rejected. */
function recordCalls(evm: EVM, id: string): { calls: InnerCall[]; stop(): void } {
  const calls: InnerCall[] = [];
  const frames: number[] = [];
  const before = (frame: Frame) => {
    frames.push(calls.length);
    if (frame.depth === 0 || frame.delegatecall) return;
    const note = frame.to ? CALL_NOTE : CREATE_NOTE;
    calls.push({
      hash: sha256Hex(id + calls.length.toString(16).padStart(8, "0")),
      from: tronAddress(frame.caller),
      to: frame.to ? tronAddress(frame.to) : "",
      value: frame.value,
      note,
      rejected: false,
    });
  };
  const after = ({ execResult }: EVMResult) => {
    const first = frames.pop() ?? 0;
    if (execResult.exceptionError) { for (const one of calls.slice(first)) one.rejected = true; }
  };
  evm.events.on("beforeMessage", before);
  evm.events.on("afterMessage", after);
  function stop() {
    evm.events.off("beforeMessage", before);
    evm.events.off("afterMessage", after);
  }
  return { calls, stop };
}

function print({ hash, from, to, value, note, rejected }: InnerCall, isFailed: boolean): Message {
  return {
    hash,
    caller_address: from,
    ...(to && { transferTo_address: to }),
    callValueInfo: [value > 0n ? { callValue: value } : {}],
    note,
    ...((rejected || isFailed) && { rejected: true }),
  };
}
