/**
 * A node of Celo for tests: it takes transactions of type 0x7b (CIP-64), which anvil does not know,
 * checks them by the specification with a decoder of its own, and has anvil carry out what they say.
 * The call runs as a transaction of the sender's with the same nonce, and the fee moves from the
 * sender to a collector in the same block. All that is asked about such a transaction is answered as
 * Celo's nodes do; everything else is anvil's.
 * @module
 */
import {
  concat,
  decodeRlp,
  encodeRlp,
  getAddress,
  Interface,
  keccak256,
  recoverAddress,
  solidityPackedKeccak256,
  toBeHex,
} from "ethers";
import type { Anvil } from "./anvil.ts";
import {
  type FaultyNode,
  NodeError,
  passOn,
  type Question,
  startFaultyNode,
} from "./faulty_node.ts";

/** A transaction of type 0x7b, decoded. */
export interface CeloTransaction {
  readonly chainId: bigint;
  readonly nonce: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly gasLimit: bigint;
  readonly to: string;
  readonly value: bigint;
  readonly data: string;
  readonly feeCurrency: string;
  readonly from: string;
  readonly hash: string;
}

/** A running node. */
export interface CeloNode extends AsyncDisposable {
  readonly url: string;
  /** Accepted transactions, in order. */
  readonly taken: CeloTransaction[];
  /** Puts something between the node and its callers. */
  readonly faulty: FaultyNode;
}

/** Base units of the fee token per gas, burnt or not. */
export const CELO_BASE_FEE = 5n * 10n ** 9n;
/** Gas of a payment in a token beyond the call itself. */
export const CELO_EXTRA_GAS = 50_000n;
/** The receiver of the fees. */
export const CELO_COLLECTOR: string = getAddress("0x000000000000000000000000000000000000fee5");
const DIRECTORY = "0x15F344b9E6c3Cb6F0376A36A64928b13F62C6276";
const ERC20 = new Interface(["function transferFrom(address,address,uint256)"]);
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
/** Slots of the honest token's mappings. */
const BALANCES = 0;
const ALLOWANCES = 1;

interface State {
  anvil: Anvil;
  chainId: bigint;
  tokens: readonly string[];
  taken: CeloTransaction[];
  /** By the id that anvil gave. */
  byAnvil: Map<string, CeloTransaction>;
  /** Its id in anvil, by its own id. */
  anvilOf: Map<string, string>;
}

/** Starts a node before an anvil with `--celo`, where fees may be paid in some tokens. */
export function startCeloNode(anvil: Anvil, chainId: number, tokens: readonly string[]): CeloNode {
  const state: State = {
    anvil,
    chainId: BigInt(chainId),
    tokens: tokens.map((token) => getAddress(token)),
    taken: [],
    byAnvil: new Map(),
    anvilOf: new Map(),
  };
  const faulty = startFaultyNode(anvil.url, (question) => answer(state, question));
  return {
    url: faulty.url,
    taken: state.taken,
    faulty,
    [Symbol.asyncDispose]: () => faulty.abort(),
  };
}

/**
 * Decodes a signed transaction by the specification: 0x7b ‖ rlp([chainId, nonce, maxPriorityFeePerGas,
 * maxFeePerGas, gasLimit, to, value, data, accessList, feeCurrency, v, r, s]).
 */
function decodeCelo(raw: string): CeloTransaction {
  if (!raw.startsWith("0x7b")) throw new NodeError(-32000, "transaction type not supported");
  const payload = "0x" + raw.slice(4);
  const fields = decoded(payload);
  if (!Array.isArray(fields) || fields.length !== 13) throw malformed("it has not 13 fields");
  if (encodeRlp(fields) !== payload) throw malformed("non-canonical rlp");
  const text = (at: number): string => {
    const field = fields[at];
    if (typeof field !== "string") throw malformed(`field ${at} is a list`);
    return field;
  };
  const whole = (at: number): bigint => {
    if (text(at).startsWith("0x00")) throw malformed(`field ${at} has leading zeros`);
    return text(at) === "0x" ? 0n : BigInt(text(at));
  };
  if (!Array.isArray(fields[8]) || fields[8].length > 0) throw malformed("an access list");
  const [v, r, s] = [whole(10), whole(11), whole(12)];
  if (v > 1n || r === 0n || s === 0n || s > HALF_ORDER) throw malformed("invalid signature");
  const digest = keccak256(concat(["0x7b", encodeRlp(fields.slice(0, 10))]));
  const signature = { r: toBeHex(r, 32), s: toBeHex(s, 32), yParity: v === 1n ? 1 : 0 } as const;
  return {
    chainId: whole(0),
    nonce: whole(1),
    maxPriorityFeePerGas: whole(2),
    maxFeePerGas: whole(3),
    gasLimit: whole(4),
    to: getAddress(text(5)),
    value: whole(6),
    data: text(7),
    feeCurrency: getAddress(text(9)),
    from: recoverAddress(digest, signature),
    hash: keccak256(raw),
  };
}

function decoded(payload: string): ReturnType<typeof decodeRlp> {
  try {
    return decodeRlp(payload);
  } catch {
    throw malformed("it cannot be read");
  }
}

async function answer(state: State, question: Question): Promise<unknown> {
  const { method, params: [first] } = question;
  if (method === "eth_sendRawTransaction" && `${first}`.startsWith("0x7b")) {
    return await take(state, decodeCelo(`${first}`));
  }
  if (method === "eth_call" && (first as { to?: string }).to === DIRECTORY) {
    const words = state.tokens.map((token) => token.slice(2).padStart(64, "0"));
    return `0x${word(32n)}${word(BigInt(words.length))}${words.join("").toLowerCase()}`;
  }
  if (method === "eth_gasPrice" && first) return toBeHex(CELO_BASE_FEE + 10n ** 9n);
  if (method === "eth_maxPriorityFeePerGas" && first) return toBeHex(10n ** 9n);
  const params = question.params.map((one) => state.anvilOf.get(`${one}`) ?? one);
  const passed = await passOn(state.anvil.url, { ...question, params }) as {
    result?: unknown;
    error?: { code: number; message: string };
  };
  if (passed.error) throw new NodeError(passed.error.code, passed.error.message);
  return translate(state, passed.result);
}

/** Checks a transaction, and gives anvil the call and the fee. */
async function take(state: State, one: CeloTransaction): Promise<string> {
  const { anvil } = state;
  if (state.anvilOf.has(one.hash)) throw new NodeError(-32000, "already known");
  const read = async (method: string, ...params: unknown[]) =>
    BigInt(await anvil.rpc<string>(method, ...params));
  if (one.chainId !== state.chainId) throw new NodeError(-32000, "invalid chain id for signer");
  if (!state.tokens.includes(one.feeCurrency)) {
    throw new NodeError(-32000, "unregistered fee-currency address");
  }
  const nonce = await read("eth_getTransactionCount", one.from, "pending");
  if (one.nonce < nonce) throw new NodeError(-32000, "nonce too low");
  if (one.nonce > nonce) throw new NodeError(-32000, "nonce gap: this node keeps no such queue");
  if (one.maxFeePerGas < CELO_BASE_FEE || one.maxPriorityFeePerGas > one.maxFeePerGas) {
    throw new NodeError(-32000, "max fee per gas less than block base fee");
  }
  const held = await read(
    "eth_getStorageAt",
    one.feeCurrency,
    slotOf(BALANCES, one.from),
    "latest",
  );
  if (held < one.gasLimit * one.maxFeePerGas) {
    throw new NodeError(-32000, "insufficient funds for gas * price + value");
  }
  const used = await gasOf(state, one);
  if (used > one.gasLimit) throw new NodeError(-32000, "intrinsic gas too low");
  const call = {
    from: one.from,
    to: one.to,
    data: one.data,
    value: toHex(one.value),
    nonce: toHex(one.nonce),
    gas: toHex(one.gasLimit - CELO_EXTRA_GAS),
  };
  const id = await sendAs(anvil, call);
  await sendAs(anvil, await feeCall(anvil, one, used * priceOf(one)));
  state.anvilOf.set(one.hash, id);
  state.byAnvil.set(id, one);
  state.taken.push(one);
  return one.hash;
}

/** The gas that the transaction will have used: anvil's own, and what the token costs on top. */
async function gasOf({ anvil }: State, one: CeloTransaction): Promise<bigint> {
  const call = { from: one.from, to: one.to, data: one.data, value: toHex(one.value) };
  const trace = await anvil.rpc<{ gasUsed: string }>("debug_traceCall", call, "latest", {
    tracer: "callTracer",
  });
  return BigInt(trace.gasUsed) + CELO_EXTRA_GAS;
}

/** The fee as a transfer by the collector, who is allowed it. */
async function feeCall(anvil: Anvil, one: CeloTransaction, fee: bigint) {
  const allowance = solidityPackedKeccak256(
    ["uint256", "uint256"],
    [CELO_COLLECTOR, slotOf(ALLOWANCES, one.from)],
  );
  await anvil.rpc("anvil_setStorageAt", one.feeCurrency, allowance, toBeHex(2n ** 256n - 1n, 32));
  return {
    from: CELO_COLLECTOR,
    to: one.feeCurrency,
    data: ERC20.encodeFunctionData("transferFrom", [one.from, CELO_COLLECTOR, fee]),
    gas: "0x30000",
  };
}

async function sendAs(anvil: Anvil, call: { from: string }): Promise<string> {
  await anvil.rpc("anvil_impersonateAccount", call.from);
  // Anvil itself must ask for nothing: the sender may have no coin at all.
  await anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x0");
  const free = { maxFeePerGas: "0x0", maxPriorityFeePerGas: "0x0" };
  return await anvil.rpc("eth_sendTransaction", { ...call, ...free });
}

function priceOf(one: CeloTransaction): bigint {
  const price = CELO_BASE_FEE + one.maxPriorityFeePerGas;
  return price < one.maxFeePerGas ? price : one.maxFeePerGas;
}

/** Gives an answer of anvil's in the words of Celo. */
function translate(state: State, told: unknown): unknown {
  if (typeof told === "string") return state.byAnvil.get(told)?.hash ?? told;
  if (Array.isArray(told)) return told.map((one) => translate(state, one));
  if (typeof told !== "object" || told === null) return told;
  const fields = Object.fromEntries(
    Object.entries(told).map(([name, value]) => [name, translate(state, value)]),
  );
  const { hash, transactionHash } = told as { hash?: string; transactionHash?: string };
  const one = state.byAnvil.get(hash ?? transactionHash ?? "");
  if (one === undefined) return fields;
  const type = { type: "0x7b", feeCurrency: one.feeCurrency.toLowerCase() };
  if ("gasUsed" in fields) {
    const gasUsed = toHex(BigInt(`${fields.gasUsed}`) + CELO_EXTRA_GAS);
    return { ...fields, ...type, gasUsed, effectiveGasPrice: toHex(priceOf(one)) };
  }
  if (!("input" in fields)) return fields;
  return {
    ...fields,
    ...type,
    gas: toHex(one.gasLimit),
    gasPrice: toHex(priceOf(one)),
    maxFeePerGas: toHex(one.maxFeePerGas),
    maxPriorityFeePerGas: toHex(one.maxPriorityFeePerGas),
  };
}

function slotOf(mapping: number, owner: string): string {
  return solidityPackedKeccak256(["uint256", "uint256"], [owner, mapping]);
}

function toHex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}

function malformed(why: string): NodeError {
  return new NodeError(-32000, `rlp: ${why}`);
}
