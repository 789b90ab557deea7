import { deepEqual, equal, ok, throws } from "node:assert/strict";
import * as ethers from "ethers";
import { readCip64, signCip64, unsignedCip64 } from "../../../workers/chains/evm/cip64.ts";
import { failsAs, signed } from "../conformance.ts";
import { type Anvil, CALLS, rich } from "../../support/nodes/anvil.ts";
import { NodeError, startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { type EvmFixture, newParty, openEvmFixture, paysToken } from "./fixture.ts";

const CUSD = "0x765DE816845861e75A25fCA122bb6898B8B1282a";
const GWEI = 10n ** 9n;

// The vector of viem's tests (src/celo/serializers.test.ts): signed by the first development key.
const VECTOR = {
  transaction: {
    chainId: 42220,
    nonce: 1,
    tip: 2n * GWEI,
    max: 2n * GWEI,
    gas: 0n,
    to: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    value: 10n ** 18n,
    data: "0x",
    feeToken: CUSD,
  },
  unsigned:
    "0x7bf84482a4ec01847735940084773594008094f39fd6e51aad88f6f4ce6ab8827279cfffb92266880de0b6b3a764000080c094765de816845861e75a25fca122bb6898b8b1282a",
  signed:
    "0x7bf88782a4ec01847735940084773594008094f39fd6e51aad88f6f4ce6ab8827279cfffb92266880de0b6b3a764000080c094765de816845861e75a25fca122bb6898b8b1282a01a087a588ffb7bec68b00d264932305b3badc3bfba2f48e9d3d916d038e1bb831a5a077e665b35849c636b52b3cc205acb98141b4a582fb84a7181e048dc5473c6d6d",
};

Deno.test("CIP-64 transactions are encoded, signed and read as the published vector", () => {
  const { transaction } = VECTOR;
  equal(unsignedCip64(ethers, transaction), VECTOR.unsigned);
  equal(signCip64(ethers, transaction, new ethers.SigningKey(rich(0).key)), VECTOR.signed);
  const read = readCip64(ethers, VECTOR.signed);
  deepEqual(read, {
    ...transaction,
    accesses: [],
    from: rich(0).address,
    hash: ethers.keccak256(VECTOR.signed),
  });
  throws(() => readCip64(ethers, VECTOR.unsigned));
});

Deno.test("CIP-64 bytes with a list of accesses, which somebody else's program made, are read as their signer's", () => {
  const { chainId, nonce, tip, max, gas, to, value, data, feeToken } = VECTOR.transaction;
  const numbers = [chainId, nonce, tip, max, gas].map((field) => ethers.toBeArray(field));
  const accesses = [[CUSD, [ethers.ZeroHash]]];
  const fields = [...numbers, to, ethers.toBeArray(value), data, accesses, feeToken];
  const encode = (all: typeof fields) => "0x7b" + ethers.encodeRlp(all).slice(2);
  const key = new ethers.SigningKey(rich(0).key);
  const { yParity, r, s } = key.sign(ethers.keccak256(encode(fields)));
  const read = readCip64(
    ethers,
    encode([...fields, ...[yParity, r, s].map((one) => ethers.toBeArray(one))]),
  );
  deepEqual([read.from, read.accesses], [rich(0).address, [[CUSD.toLowerCase(), [
    ethers.ZeroHash,
  ]]]]);
});

Deno.test("CUSD pays its own fee where the node keeps a list of fee tokens", async () => {
  await using fixture = await openEvmFixture("CELO", "main", "--celo");
  const { anvil, payer, available } = fixture;
  await placeToken(anvil, payer.address, 10n ** 18n);
  await using celo = startFaultyNode(anvil.url, celoNode);
  const chain = await fixture.open(celo.url);
  const quoted = await chain.quote(CUSD);
  equal(quoted.medium.contract, CUSD);
  equal(quoted.medium.base, 125_000n * (5n * GWEI * 125n) / 100n);
  const to = newParty().address;
  const { plan, signed: bytes } = await signed(
    { chain, available },
    payer,
    paysToken(payer, CUSD, to, 7n),
  );
  ok(bytes.raw.startsWith("0x7b"));
  equal(plan.feeContract, CUSD);
  const seen = await chain.inspect(bytes.raw);
  deepEqual([seen.payments, seen.fee], [[{ to, contract: CUSD, amount: 7n }], plan.fee]);
  const read = (await chain.planOf(bytes, { all: false }))!;
  deepEqual([read.order, read.amounts, read.fee], [plan.order, plan.amounts, plan.fee]);
  equal(read.feeContract, CUSD);
  const how = { speed: "fast" as const, budget: null, cancels: false };
  const next = chain.plan(await chain.redraft(read, how), {}, read);
  deepEqual([next.feeContract, next.amounts, next.inputs], [CUSD, [7n], plan.inputs]);
  // This node does not know the type, and says so; nobody else has taken it.
  const sent = await chain.broadcast(bytes);
  deepEqual([sent.outcome, sent.obstacle], ["unknown", "malformed"]);
  const sweep = await signed({ chain, available }, payer, paysToken(payer, CUSD, to, "all"));
  equal(sweep.plan.amounts[0] + sweep.plan.fee, 10n ** 18n);
  const swept = (await chain.planOf(sweep.signed, { all: true }))!;
  const smaller = chain.plan(await chain.redraft(swept, how), {}, swept);
  equal(smaller.amounts[0] + smaller.fee, 10n ** 18n);
  const poor = newParty();
  await failsAs("insufficient", chain.draft(paysToken(poor, CUSD, to, 7n), "slow"));
  // Whatever a node says of the balance, it ends no replacement: the nonce has to be used up.
  celo.trick = (question) => {
    const given = celoNode(question);
    if (given !== undefined || question.method !== "eth_call") return given;
    throw new NodeError(3, "execution reverted");
  };
  await failsAs("unavailable", chain.redraft(read, how));
});

Deno.test("on a node without such a list the fee of CUSD is paid in coins", async () => {
  await using fixture = await openEvmFixture("CELO", "main", "--celo");
  const { anvil, chain, mine, payer } = fixture;
  await placeToken(anvil, payer.address, 10n ** 18n);
  equal((await chain.quote(CUSD)).medium.contract, null);
  const order = paysToken(payer, CUSD, newParty().address, 7n);
  const { plan, signed: bytes } = await signed(fixture, payer, order);
  equal(plan.feeContract, null);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await mine();
  const status = await chain.status({ attempts: [bytes], since: 0, depth: 1 });
  equal(status.state, "mined");
});

/** Answers that only a real node of Celo gives. */
const celoNode: Trick = ({ method, params }) => {
  const [first] = params;
  const word = (value: string) => value.toLowerCase().replace("0x", "").padStart(64, "0");
  const directory = "0x15F344b9E6c3Cb6F0376A36A64928b13F62C6276";
  const asksList = typeof first === "object" && first !== null && "to" in first &&
    first.to === directory;
  if (method === "eth_call" && asksList) return `0x${word("20")}${word("1")}${word(CUSD)}`;
  if (method === "eth_gasPrice" && first === CUSD) return `0x${(5n * GWEI).toString(16)}`;
  if (method === "eth_maxPriorityFeePerGas" && first === CUSD) return `0x${GWEI.toString(16)}`;
};

/** Puts a token where CUSD is, with a balance in the first slot's mapping. */
async function placeToken(anvil: EvmFixture["anvil"] & Anvil, owner: string, amount: bigint) {
  const token = await anvil.deploy("Silent");
  await anvil.rpc("anvil_setCode", CUSD, await anvil.rpc("eth_getCode", token, "latest"));
  const slot = ethers.keccak256(ethers.zeroPadValue(owner, 32) + "0".repeat(64));
  await anvil.rpc("anvil_setStorageAt", CUSD, slot, ethers.toBeHex(amount, 32));
  ok(CALLS.getFunction("transfer"));
}
