/**
 * The test's Tron node charges what java-tron charges: bandwidth, energy, new accounts and memos.
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import {
  ask,
  balance,
  infoOf,
  mined,
  tokenBalance,
  TRC20,
  TRX,
  word,
} from "../../support/nodes/tron/client.ts";
import { newTronParty, richTron } from "../../support/nodes/tron/wallet.ts";
import { printTransaction, type Transaction } from "../../support/nodes/tron/messages.ts";
import { startTronNode, type TronNode } from "../../support/nodes/tron/node.ts";

async function refused(node: TronNode, transaction: Transaction): Promise<string> {
  const answer = await ask(node, "wallet/broadcasttransaction", printTransaction(transaction));
  return answer.code;
}

Deno.test("a new receiver costs 1 TRX and 0.1 TRX, and the same payment again only bandwidth", async () => {
  await using node = await startTronNode();
  const payer = newTronParty();
  await node.fund(payer.address, 10n * TRX);
  const to = newTronParty();
  const first = await node.pay(to.address, TRX, { from: payer });
  await node.mine();
  const info = await infoOf(node, first);
  deepEqual([info.fee, info.receipt], [1_100_000n, { net_fee: 100_000n }]);
  equal(await balance(node, payer.hex), 10n * TRX - TRX - 1_100_000n);
  const second = await node.pay(to.address, TRX, { from: payer });
  await node.mine();
  const again = await infoOf(node, second);
  equal(again.fee, undefined, "the free bandwidth pays it");
  // A transfer has 268 to 270 bytes with 64 for its result, as on the main network.
  ok(again.receipt.net_usage > 260n && again.receipt.net_usage < 275n, again.receipt.net_usage);
  await node.pay(to.address, TRX, { from: payer });
  const third = await node.pay(to.address, TRX, { from: payer });
  await node.mine();
  const { fee, receipt } = await infoOf(node, third);
  equal(fee, receipt.net_fee);
  equal(fee, again.receipt.net_usage * 1000n);
});

Deno.test("staked bandwidth also pays for a new account, and the free one recovers in a day", async () => {
  await using node = await startTronNode();
  const [payer, to] = [newTronParty(), newTronParty()];
  await node.fund(payer.address, 10n * TRX);
  await node.stake(payer.address, { bandwidth: 300n });
  const first = await node.pay(to.address, TRX, { from: payer });
  await node.mine();
  const { fee, receipt } = await infoOf(node, first);
  deepEqual([fee, receipt.net_fee], [TRX, undefined]);
  await node.pay(to.address, 1n, { from: payer });
  await node.mine();
  const resource = () => ask(node, "wallet/getaccountresource", { address: payer.hex });
  const before = await resource();
  ok(before.freeNetUsed > 250n && before.NetUsed > 250n);
  await node.mineAfter(14_400);
  const after = await resource();
  ok(after.freeNetUsed > 120n && after.freeNetUsed < 140n, `${after.freeNetUsed}`);
  await node.mineAfter(28_800);
  equal((await resource()).freeNetUsed, undefined);
});

Deno.test("what bandwidth and memo cost must be there, and a memo costs 1 TRX", async () => {
  await using node = await startTronNode();
  const [payer, to] = [newTronParty(), newTronParty()];
  await node.fund(to.address, 1n);
  await node.fund(payer.address, 2n * TRX);
  const { fee } = await infoOf(node, await mined(node, node.pay(to.address, 1n, fields("thanks"))));
  equal(fee, TRX);
  const pay = (amount: bigint, memo?: string) =>
    node.build("TransferContract", {
      owner_address: payer.hex,
      to_address: to.hex,
      amount,
    }, { from: payer, memo });
  equal(await refused(node, pay(1n, "again")), "BANDWITH_ERROR");
  equal(await balance(node, payer.hex), TRX - 1n);
  equal(await refused(node, pay(10n)), undefined);
  equal(await refused(node, pay(TRX - 11n)), "CONTRACT_VALIDATE_ERROR");
  const poor = newTronParty();
  await node.fund(poor.address, 1_000n);
  for (let sent = 0; sent < 2; sent++) await node.pay(to.address, 1n, { from: poor });
  const value = { owner_address: poor.hex, to_address: to.hex, amount: 1n };
  const third = node.build("TransferContract", value, { from: poor });
  equal(await refused(node, third), "BANDWITH_ERROR");
  function fields(memo: string) {
    return { from: payer, memo };
  }
});

Deno.test("a TRC-20 payment takes energy; a limit too low burns it, a revert keeps the rest", async () => {
  await using node = await startTronNode();
  const token = await node.deploy("Tether");
  const to = newTronParty();
  const data = TRC20.encodeFunctionData("transfer", [word(to.hex), 5n]);
  const good = await infoOf(node, await mined(node, node.trigger(token, data)));
  equal(good.receipt.result, "SUCCESS");
  equal(good.receipt.energy_fee, good.receipt.energy_usage_total * 100n);
  ok(good.receipt.energy_usage_total > 20_000n);
  equal(good.result, undefined);
  equal(BigInt(`0x${good.contractResult[0]}`), 0n, "transfer() of USDT answers false");
  deepEqual([good.log.length, good.log[0].address], [1, token.slice(2)]);
  equal(await tokenBalance(node, token, to.hex), 5n);

  const low = await mined(node, node.trigger(token, data, { feeLimit: TRX }));
  const burnt = await infoOf(node, low);
  deepEqual([burnt.receipt.result, burnt.result, burnt.receipt.energy_fee], [
    "OUT_OF_ENERGY",
    "FAILED",
    TRX,
  ]);
  const printed = await ask(node, "wallet/gettransactionbyid", { value: low });
  deepEqual(printed.ret, [{ contractRet: "OUT_OF_ENERGY" }]);
  equal(await tokenBalance(node, token, to.hex), 5n);

  const block = TRC20.encodeFunctionData("addBlackList", [word(richTron(1).hex)]);
  await mined(node, node.trigger(token, block));
  const blocked = await mined(node, node.trigger(token, data, { from: richTron(1) }));
  const reverted = await infoOf(node, blocked);
  deepEqual([reverted.receipt.result, reverted.result, reverted.log], [
    "REVERT",
    "FAILED",
    undefined,
  ]);
  ok(reverted.receipt.energy_fee > 0n && reverted.receipt.energy_fee < TRX);
});

Deno.test("staked energy pays first, a busy contract takes more, and no balance goes below zero", async () => {
  await using node = await startTronNode();
  const token = await node.deploy("Tether");
  const payer = newTronParty();
  const data = TRC20.encodeFunctionData("transfer", [word(payer.hex), 100n]);
  await mined(node, node.trigger(token, data));
  await node.fund(payer.address, 100_000n);
  await node.stake(payer.address, { energy: 10_000n });
  const from = { from: payer };
  const out = TRC20.encodeFunctionData("transfer", [word(richTron().hex), 1n]);
  const poor = await infoOf(node, await mined(node, node.trigger(token, out, from)));
  deepEqual([poor.receipt.result, poor.receipt.energy_usage], ["OUT_OF_ENERGY", 10_000n]);
  equal(poor.receipt.energy_fee, 100_000n);
  equal(await balance(node, payer.hex), 0n);
  await node.fund(payer.address, TRX);
  await node.stake(payer.address, { energy: 1_000_000n });
  const rich = await infoOf(node, await mined(node, node.trigger(token, out, from)));
  deepEqual([rich.receipt.result, rich.receipt.energy_fee], ["SUCCESS", undefined]);
  await node.busy(token, 5_000n);
  const busy = await infoOf(node, await mined(node, node.trigger(token, out, from)));
  const { energy_usage_total, energy_penalty_total } = busy.receipt;
  const total: bigint = energy_usage_total;
  const usual = total - BigInt(energy_penalty_total);
  equal(energy_penalty_total, usual / 2n);
});
