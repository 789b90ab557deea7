/**
 * The test's Tron node refuses what java-tron refuses. A node that took everything would let the
 * adapter's faults pass.
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Interface } from "ethers";
import {
  ask,
  balance,
  infoOf,
  type Json,
  mined,
  TRX,
  word,
} from "../../support/nodes/tron/client.ts";
import { bytesOf, newTronParty, partyOf, richTron, sign } from "../../support/nodes/tron/wallet.ts";
import {
  printTransaction,
  RAW,
  sha256Hex,
  type Transaction,
} from "../../support/nodes/tron/messages.ts";
import { startTronNode, type TronNode } from "../../support/nodes/tron/node.ts";
import { decode, encode } from "../../support/nodes/tron/protobuf.ts";

async function broadcast(node: TronNode, transaction: Transaction, by: object = {}): Promise<Json> {
  const body = { ...printTransaction(transaction), ...by };
  return await ask(node, "wallet/broadcasttransaction", body);
}

async function refused(node: TronNode, transaction: Transaction, by: object = {}): Promise<string> {
  const answer = await broadcast(node, transaction, by);
  equal(answer.result, undefined, "a refusal leaves the result out");
  equal(answer.txid, transaction.id);
  return answer.code;
}

function payment(node: TronNode, to: string, amount: bigint): Transaction {
  const { hex } = richTron();
  return node.build("TransferContract", { owner_address: hex, to_address: to, amount });
}

Deno.test("messages are encoded as in an example recorded from a public node", () => {
  // tronprotocol/documentation-en, docs/api/http/smart-contract/triggerconstantcontract.md
  const raw =
    "0a0228c022089eabbe133123b34c40d0d6f0c0dd335a8e01081f1289010a31747970652e676f6f676c6" +
    "5617069732e636f6d2f70726f746f636f6c2e54726967676572536d617274436f6e747261637412540a1541dd79" +
    "1d6b49e190062d650e6a23c575510d35f2f9121541eca9bc828a3005b9a3b909f2cc5c2a54794de05f222470a08" +
    "231000000000000000000000000dd791d6b49e190062d650e6a23c575510d35f2f970cb97edc0dd33";
  equal(encode(RAW, decode(RAW, raw)), raw);
  equal(sha256Hex(raw), "cff6488e738ce77f7325572fe0aa2470f87dbf1c95eeeb2c25feec59d5afa35c");
});

Deno.test("a key gives the address that Tron's wallets give", () => {
  // The key 1, whose Ethereum address is 0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf.
  const key = new Uint8Array(32);
  key[31] = 1;
  equal(partyOf(key).hex, "417e5f4552091a69125d5dfcb7b8c2659029395bdf");
  match(partyOf(key).address, /^T[1-9A-HJ-NP-Za-km-z]{33}$/);
});

Deno.test("the node refuses each broken transaction with the code of java-tron", async () => {
  await using node = await startTronNode();
  const to = newTronParty().hex;
  const owner = richTron();
  const good = payment(node, to, TRX);
  const value = { owner_address: owner.hex, to_address: to, amount: TRX };
  const { timestamp, id } = node.ledger.blocks[0];
  const raw = {
    ref_block_bytes: id.slice(12, 16),
    ref_block_hash: id.slice(16, 32),
    expiration: timestamp + 60_000n,
    timestamp,
  };
  const built = (fields: Partial<typeof raw> & object, by = owner, as: object = value) =>
    sign(by, "TransferContract", as as typeof value, { ...raw, ...fields });
  const stranger = newTronParty();
  const cases: readonly (readonly [string, Transaction, object?])[] = [
    ["SIGERROR", good, { signature: [] }],
    ["SIGERROR", good, { signature: [`${"11".repeat(64)}1b`] }],
    ["SIGERROR", good, { signature: ["11"] }],
    ["SIGERROR", good, { signature: [good.signatures[0], good.signatures[0]] }],
    ["SIGERROR", built({}, stranger)],
    ["TAPOS_ERROR", built({ ref_block_hash: "00".repeat(8) })],
    ["TAPOS_ERROR", built({ ref_block_bytes: "0007" })],
    ["TRANSACTION_EXPIRATION_ERROR", built({ expiration: timestamp })],
    ["TRANSACTION_EXPIRATION_ERROR", built({ expiration: timestamp + 2_999n })],
    ["TRANSACTION_EXPIRATION_ERROR", built({ expiration: timestamp + 86_400_001n })],
    ["CONTRACT_VALIDATE_ERROR", built({}, owner, { ...value, amount: 0n })],
    ["CONTRACT_VALIDATE_ERROR", built({}, owner, { ...value, amount: -1n })],
    ["CONTRACT_VALIDATE_ERROR", built({}, owner, { ...value, amount: 2n ** 60n })],
    ["CONTRACT_VALIDATE_ERROR", built({}, owner, { ...value, to_address: owner.hex })],
    ["CONTRACT_VALIDATE_ERROR", built({}, owner, { ...value, to_address: "41" })],
    ["CONTRACT_VALIDATE_ERROR", built({}, stranger, { ...value, owner_address: stranger.hex })],
    ["TOO_BIG_TRANSACTION_ERROR", built({ data: "00".repeat(512_000) } as object)],
    ["TOO_BIG_TRANSACTION_ERROR", built({ data: "00".repeat(1_000) } as object)],
  ];
  for (const [code, transaction, by] of cases) equal(await refused(node, transaction, by), code);
  await node.mine();
  equal(await balance(node, to), 0n, "nothing of it was mined");
  deepEqual(await broadcast(node, built({ expiration: timestamp + 90_000n })), {
    result: true,
    txid: built({ expiration: timestamp + 90_000n }).id,
  });
});

Deno.test("the node encodes raw_data anew, and does not look at raw_data_hex", async () => {
  await using node = await startTronNode();
  const transaction = payment(node, newTronParty().hex, TRX);
  const printed = printTransaction(transaction) as Json;
  const contract = structuredClone(printed.raw_data.contract);
  contract[0].parameter.value.amount = 2n * TRX;
  const raw_data = { ...printed.raw_data, contract };
  const answer = await broadcast(node, transaction, { raw_data });
  equal(answer.code, "SIGERROR");
  ok(answer.txid !== transaction.id, "the id is of what was encoded");
  equal((await broadcast(node, transaction, { raw_data_hex: "00", txID: "11" })).result, true);
});

Deno.test("a transaction is taken once, pooled or mined, in either form", async () => {
  await using node = await startTronNode();
  const transaction = payment(node, newTronParty().hex, TRX);
  const hex = { transaction: bytesOf(transaction) };
  const first = await ask(node, "wallet/broadcasthex", hex);
  deepEqual([first.result, first.code, first.txid], [true, "SUCCESS", transaction.id]);
  equal(await refused(node, transaction), "DUP_TRANSACTION_ERROR");
  equal((await ask(node, "wallet/broadcasthex", hex)).code, "DUP_TRANSACTION_ERROR");
  await node.mine();
  equal(await refused(node, transaction), "DUP_TRANSACTION_ERROR");
  await node.mine(25);
  equal(await refused(node, transaction), "TRANSACTION_EXPIRATION_ERROR");
});

Deno.test("a node that remembers ids calls a refused transaction a duplicate", async () => {
  await using node = await startTronNode({ remembersRefused: true });
  const broken = payment(node, newTronParty().hex, 2n ** 60n);
  equal(await refused(node, broken), "CONTRACT_VALIDATE_ERROR");
  equal(await refused(node, broken), "DUP_TRANSACTION_ERROR");
});

Deno.test("the solidity surface lags, a full node shows its pool, and forks stay above the solid block", async () => {
  await using node = await startTronNode({ lag: 3 });
  const to = newTronParty();
  const id = await node.pay(to.address, TRX);
  const onFull = () => ask(node, "wallet/gettransactionbyid", { value: id });
  const onSolid = () => ask(node, "walletsolidity/gettransactioninfobyid", { value: id });
  deepEqual((await onFull()).ret, [{ contractRet: "SUCCESS" }], "pooled, and not in a block");
  deepEqual(await infoOf(node, id), {});
  equal(await balance(node, to.hex), TRX);
  await node.mine(3);
  deepEqual(await onSolid(), {});
  equal(await balance(node, to.hex, "walletsolidity"), 0n);
  const before = (await ask(node, "wallet/getblockbynum", { num: 1n })).blockID;
  await node.reorganise(3);
  notSame(before, (await ask(node, "wallet/getblockbynum", { num: 1n })).blockID);
  deepEqual(await onFull(), {});
  equal(await balance(node, to.hex), 0n);
  const kept = await mined(node, node.pay(to.address, 2n * TRX));
  await node.reorganise(1, (one) => one === kept);
  equal((await infoOf(node, kept)).blockNumber, BigInt(node.ledger.minedIn.get(kept)!));
  await node.solidify();
  equal(await balance(node, to.hex, "walletsolidity"), 2n * TRX);
  await node.reorganise(3);
  equal(await balance(node, to.hex), 2n * TRX);
  await node.reorganise(4).then(() => ok(false), (error: Error) => match(error.message, /never/));
});

function notSame(one: string, other: string): void {
  ok(one !== other, `${one} was replaced`);
}

Deno.test("calls inside contracts are listed, those of a call that failed as rejected", async () => {
  await using node = await startTronNode();
  const batcher = await node.deploy("Batcher");
  const calls = new Interface([
    "function payCoin(address[],uint256) payable",
    "function swallowFailure(address) payable",
  ]);
  const [one, two] = [newTronParty(), newTronParty()];
  const pay = calls.encodeFunctionData("payCoin", [[word(one.hex), word(two.hex)], 3n]);
  const info = await infoOf(node, await mined(node, node.trigger(batcher, pay, { value: 6n })));
  deepEqual(
    info.internal_transactions.map((each: Json) => [each.transferTo_address, each.callValueInfo]),
    [[one.hex, [{ callValue: 3n }]], [two.hex, [{ callValue: 3n }]]],
  );
  deepEqual([await balance(node, one.hex), await balance(node, two.hex)], [3n, 3n]);
  const swallow = calls.encodeFunctionData("swallowFailure", [word(one.hex)]);
  const failed = await infoOf(
    node,
    await mined(node, node.trigger(batcher, swallow, { value: 9n })),
  );
  equal(failed.receipt.result, "SUCCESS");
  ok(failed.internal_transactions.every((each: Json) => each.rejected === true));
  equal(await balance(node, one.hex), 3n);
});

Deno.test("amounts above 2^53 come through exactly", async () => {
  await using node = await startTronNode();
  const [huge, to] = [2n ** 53n + 1n, newTronParty()];
  await node.fund(to.address, huge);
  equal(await balance(node, to.hex), huge);
});

Deno.test("what is not there is an empty object, and what cannot be read an Error", async () => {
  await using node = await startTronNode();
  const nobody = newTronParty().hex;
  deepEqual(await ask(node, "wallet/getaccount", { address: nobody }), {});
  deepEqual(await ask(node, "wallet/getblockbynum", { num: 7n }), {});
  deepEqual(await ask(node, "wallet/getblock", { id_or_num: "7" }), {});
  match((await ask(node, "wallet/getblock", { id_or_num: "ab" })).Error, /legal block hash/);
  const { blockID } = await ask(node, "wallet/getblock", { detail: false });
  equal((await ask(node, "walletsolidity/getblock", { id_or_num: blockID })).blockID, blockID);
  deepEqual(await ask(node, "wallet/gettransactioninfobyblocknum", { num: 0n }), {});
  deepEqual(await ask(node, "wallet/gettransactioninfobyblocknum", { num: 7n }), []);
  match((await ask(node, "wallet/getaccount", { address: "zz" })).Error, /ParseException/);
  match((await ask(node, "wallet/broadcasttransaction", {})).Error, /null/);
  const call = { owner_address: nobody, contract_address: nobody, data: "00" };
  const { result } = await ask(node, "wallet/triggerconstantcontract", call);
  equal(result.code, "CONTRACT_VALIDATE_ERROR");
  equal(await fetch(`${node.url}/wallet/nothing`).then(discard), 404);
});

async function discard(response: Response): Promise<number> {
  await response.body?.cancel();
  return response.status;
}

Deno.test("TRC-10 moves by its number, and a contract takes no plain payment", async () => {
  await using node = await startTronNode();
  const to = newTronParty();
  await node.fund(to.address, 1n);
  await node.grantAsset(richTron().address, "1000001", 50n);
  await mined(node, node.payAsset(to.address, "1000001", 20n));
  const { assetV2 } = await ask(node, "wallet/getaccount", { address: to.hex });
  deepEqual(assetV2, [{ key: "1000001", value: 20n }]);
  const token = await node.deploy("Tether");
  equal(await refused(node, payment(node, token, TRX)), "CONTRACT_VALIDATE_ERROR");
});
