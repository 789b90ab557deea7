import { deepEqual, equal, ok } from "node:assert/strict";
import type { Transfer } from "../../../workers/chains/observations.ts";
import { failsAs, pays, scanned, signed, statusIs, watching } from "../conformance.ts";
import { TRANSFER_TOPIC } from "../../../workers/chains/evm/erc20.ts";
import { CALLS, rich } from "../../support/nodes/anvil.ts";
import { NodeError, startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { deployToken, type EvmFixture, newParty, openEvmFixture, paysToken } from "./fixture.ts";

Deno.test("a token is paid out, its payment known by its log", async () => {
  await using fixture = await openEvmFixture();
  const { chain, mine, payer } = fixture;
  const token = await deployToken(fixture);
  const to = newParty().address;
  const since = (await chain.head()).height;
  const order = paysToken(payer, token, to, 1234n);
  const { plan, signed: bytes } = await signed(fixture, payer, order);
  deepEqual((await chain.inspect(bytes.raw)).payments, [{ to, contract: token, amount: 1234n }]);
  await chain.broadcast(bytes);
  await mine();
  const status = statusIs(await chain.status({ attempts: [bytes], since, depth: 1 }), "mined");
  ok(status.success && status.fee <= plan.fee);
  const [{ transfers: [transfer] }] = await scanned(chain, since + 1, since + 1, watching([to]));
  deepEqual([transfer.hash, transfer.index, transfer.contract], [bytes.hash, 0, token]);
  deepEqual(await chain.recheck(transfer), { transfer, received: 1234n, proven: true });
  deepEqual((await chain.balances([{ address: to, contract: token }], null)).amounts, [1234n]);
});

Deno.test("tokens whose transfer() gives nothing back are paid like any other", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, mine, payer } = fixture;
  const token = await anvil.deploy("Silent");
  const to = newParty().address;
  const since = (await chain.head()).height;
  const { signed: bytes } = await signed(fixture, payer, paysToken(payer, token, to, 5n));
  await chain.broadcast(bytes);
  await mine();
  ok(statusIs(await chain.status({ attempts: [bytes], since, depth: 1 }), "mined").success);
});

Deno.test("a token that says no is refused before a nonce is spent, and never a success", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, mine, payer } = fixture;
  const [honest, refuser] = [await anvil.deploy("Silent"), await anvil.deploy("Refuser")];
  const to = newParty().address;
  await failsAs("refused", chain.draft(paysToken(payer, refuser, to, 5n), "fast"));
  // It may begin to say no after the draft.
  const { signed: bytes } = await signed(fixture, payer, paysToken(payer, honest, to, 5n));
  const code = await anvil.rpc("eth_getCode", refuser, "latest");
  await anvil.rpc("anvil_setCode", honest, code);
  await chain.broadcast(bytes);
  await mine();
  const status = await chain.status({ attempts: [bytes], since: 0, depth: 1 });
  equal(statusIs(status, "mined").success, false);
  ok(statusIs(status, "mined").fee > 0n);
});

Deno.test("a token that keeps a part is credited with the amount that arrived", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const token = await anvil.deploy("Taxed");
  const ours = newParty().address;
  const data = (amount: bigint) => CALLS.encodeFunctionData("transfer", [ours, amount]);
  await anvil.pool({ to: token, data: data(1000n) });
  await anvil.pool({ to: token, data: data(500n) });
  await anvil.mine();
  const found = await transfers(fixture, ours);
  const checks = await Promise.all(found.map((one) => chain.recheck(one)));
  deepEqual(checks.map((one) => [one?.transfer.amount, one?.received, one?.proven]), [
    [1000n, 900n, true],
    [500n, 450n, true],
  ]);
});

Deno.test("a token that only claims to have moved is credited with nothing", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const token = await anvil.deploy("Liar");
  const ours = newParty().address;
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours, 10n ** 9n]) });
  const [lie] = await transfers(fixture, ours);
  equal(lie.amount, 10n ** 9n);
  deepEqual(await chain.recheck(lie), { transfer: lie, received: 0n, proven: true });
});

Deno.test("a token that answers in a node's words that old balances are gone is credited with nothing", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const token = await anvil.deploy("Liar");
  const topic = TRANSFER_TOPIC.slice(2);
  // balanceOf() reverts; every other call logs a transfer from its caller and answers true.
  const logs = `6024355f52600435337f${topic}60205fa360015f5260205ff3`;
  const code = `0x5f3560e01c6370a0823114604457${logs}5b${revertWith("missing trie node")}`;
  await anvil.rpc("anvil_setCode", token, code);
  const ours = newParty().address;
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours, 10n ** 9n]) });
  const [lie] = await transfers(fixture, ours);
  equal(lie.amount, 10n ** 9n);
  await failsAs("refused", chain.recheck(lie));
});

Deno.test("where old balances are gone, a credit is reported as unproven", async () => {
  await using fixture = await openEvmFixture();
  const { anvil } = fixture;
  const token = await deployToken(fixture);
  const ours = newParty().address;
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours, 5n]) });
  const [transfer] = await transfers(fixture, ours);
  await using pruned = startFaultyNode(anvil.url, ({ method, params: [, at] }) => {
    if (method === "eth_call" && typeof at === "object") {
      throw new NodeError(-32000, "missing trie node 1234 (path )");
    }
  });
  const chain = await fixture.open(pruned.url);
  deepEqual(await chain.recheck(transfer), { transfer, received: 5n, proven: false });
});

Deno.test("a payment in and a sweep out in one block do not hide each other", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, payer } = fixture;
  const token = await deployToken(fixture);
  const ours = newParty();
  await anvil.send({ to: ours.address, value: 10n ** 18n });
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours.address, 70n]) });
  const out = await signed(fixture, ours, paysToken(ours, token, payer.address, "all"));
  deepEqual(out.plan.amounts, [70n]);
  await chain.broadcast(out.signed);
  await anvil.pool({
    to: token,
    data: CALLS.encodeFunctionData("transfer", [ours.address, 30n]),
  });
  await anvil.mine();
  const { height } = await chain.head();
  const [{ transfers: [inward] }] = await scanned(chain, height, height, watching([ours.address]));
  deepEqual(await chain.recheck(inward), { transfer: inward, received: 30n, proven: true });
});

Deno.test("a sender with tokens but no coins gets the amount of gas that is lacking", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, mine, payer } = fixture;
  const token = await deployToken(fixture);
  const ours = newParty();
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours.address, 70n]) });
  const order = paysToken(ours, token, payer.address, "all");
  const draft = await chain.draft(order, "fast");
  equal(draft.lacking, draft.fee.base);
  const topUp = await signed(fixture, payer, pays(payer, ours.address, draft.lacking));
  await chain.broadcast(topUp.signed);
  await mine();
  const again = await signed(fixture, ours, order);
  equal((await chain.draft(order, "fast")).lacking, 0n);
  await chain.broadcast(again.signed);
  await mine();
  const left = await chain.balances([{ address: ours.address, contract: token }], null);
  deepEqual(left.amounts, [0n]);
  await failsAs("insufficient", chain.draft(order, "fast"));
});

Deno.test("a token is deployed where the plan said, and describes itself", async () => {
  await using fixture = await openEvmFixture();
  const { chain, mine, payer } = fixture;
  const token = { name: "Harbour", symbol: "HRB", decimals: 9, supply: 5n * 10n ** 15n };
  const order = { kind: "deploy", from: payer.address, token } as const;
  const { plan, signed: bytes } = await signed(fixture, payer, order);
  equal(await chain.token(plan.creates!), null);
  equal((await chain.inspect(bytes.raw)).creates, plan.creates);
  await chain.broadcast(bytes);
  await mine();
  const status = statusIs(
    await chain.status({ attempts: [bytes], since: 0, depth: 1 }),
    "mined",
  );
  ok(status.success);
  deepEqual(await chain.token(plan.creates!), {
    contract: plan.creates,
    symbol: "HRB",
    name: "Harbour",
    decimals: 9,
    supply: token.supply,
  });
  const holding = { address: payer.address, contract: plan.creates };
  deepEqual((await chain.balances([holding], null)).amounts, [token.supply]);
});

Deno.test("the description that a contract gives of itself is read with care", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const details = async (name: Parameters<typeof anvil.deploy>[0]) => {
    const told = await chain.token(await anvil.deploy(name));
    return [told?.symbol, told?.name, told?.decimals, told?.supply];
  };
  deepEqual(await details("Old"), ["MKR", "Maker", 77, 10n ** 30n]);
  deepEqual(await details("Taxed"), ["TAX", null, 0, 10n ** 30n]);
  // It borrows a symbol, and has more decimals than a token can have.
  deepEqual(await details("Liar"), ["USDT", null, null, 10n ** 30n]);
  deepEqual(await details("Batcher"), [null, null, null, null]);
  equal(await chain.token(rich(3).address), null);
  // It tells the gas that is left, and then loops.
  const holding = { address: rich(3).address, contract: newParty().address };
  await anvil.rpc("anvil_setCode", holding.contract, "0x5a5f5260205ff3");
  const [left] = (await chain.balances([holding], null)).amounts;
  const supply = (await chain.token(holding.contract))?.supply ?? 0n;
  for (const gas of [left, supply]) {
    ok(gas > 4_000_000n && gas < 5_000_000n, "no node's time is taken");
  }
  await anvil.rpc("anvil_setCode", holding.contract, "0x5b5f56");
  await failsAs("refused", chain.balances([holding], null));
});

Deno.test("a contract that receives coins gets the gas it needs, one that refuses gets nothing", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, payer } = fixture;
  const batcher = await anvil.deploy("Batcher");
  const draft = await chain.draft(pays(payer, batcher, 10n), "slow");
  ok(draft.fee.base > 0n);
  const { signed: bytes } = await signed(fixture, payer, pays(payer, batcher, 10n));
  await chain.broadcast(bytes);
  await anvil.mine();
  ok(statusIs(await chain.status({ attempts: [bytes], since: 0, depth: 1 }), "mined").success);
  const token = await anvil.deploy("Silent");
  await failsAs("refused", chain.draft(pays(payer, token, 10n), "slow"));
  // It loops where it is given more than may be spent.
  await anvil.rpc("anvil_setCode", token, "0x5a620f424010600a57005b600a56");
  ok((await chain.draft(pays(payer, token, 10n), "slow")).fee.base > 0n, "no node's time is taken");
});

Deno.test("a receiver whose code ends with any fault, in whatever words of its own or of a node's, is refused", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, payer } = fixture;
  const receiver = newParty().address;
  const words = ["insufficient funds", "timed out, try again", "header not found"];
  for (const code of ["fe", "5b5f56", "50", "5f56", ...words.map(revertWith)]) {
    await anvil.rpc("anvil_setCode", receiver, `0x${code}`);
    await failsAs("refused", chain.draft(pays(payer, receiver, 10n), "slow"));
  }
  let said = "";
  await using node = startFaultyNode(anvil.url, ({ method }) => {
    if (method === "eth_estimateGas") throw new NodeError(-32000, said);
  });
  const other = await fixture.open(node.url);
  for (
    said of [
      "gas required exceeds allowance (50000000)",
      "stack underflow (0 <=> 1)",
      "invalid jump destination",
      "invalid opcode: INVALID",
    ]
  ) await failsAs("refused", other.draft(pays(payer, receiver, 10n), "slow"));
  for (
    said of ["insufficient funds for gas * price + value: have 1 want 2", "EVM error: OutOfFunds"]
  ) await failsAs("insufficient", other.draft(pays(payer, receiver, 10n), "slow"));
});

/** Code that reverts with `Error(string)`, of at most 32 letters. */
function revertWith(text: string): string {
  const word = Array.from(new TextEncoder().encode(text), (one) => one.toString(16)).join("");
  const length = text.length.toString(16).padStart(2, "0");
  return `7f08c379a0${"0".repeat(56)}5f52602060045260${length}6024527f${
    word.padEnd(64, "0")
  }60445260645ffd`;
}

async function transfers({ chain }: EvmFixture, ours: string): Promise<Transfer[]> {
  const { height } = await chain.head();
  const found = await scanned(chain, 1, height, watching([ours]));
  return found.flatMap((one) => one.transfers);
}

/** Answers every call of a contract with an error. */
function callsFail(code: number, message: string): Trick {
  return ({ method }) => {
    if (method === "eth_call") throw new NodeError(code, message);
  };
}

Deno.test("that a token tells no balance is believed of as many nodes as the quorum, and not of one where the others do not answer", async () => {
  await using fixture = await openEvmFixture();
  const nodes = [1, 2, 3].map(() => startFaultyNode(fixture.anvil.url));
  const [lying, second, third] = nodes;
  const chain = await fixture.open(...nodes.map(({ url }) => url));
  const holding = { address: rich(0).address, contract: await deployToken(fixture) };
  const { height } = await chain.head();
  const reverts = callsFail(3, "execution reverted");
  lying.trick = reverts;
  equal(await chain.balance(holding, height), 10n ** 30n);
  second.trick = third.trick = callsFail(-32000, "header not found");
  await failsAs("unavailable", chain.balance(holding, height));
  await failsAs("unavailable", chain.funds([holding]));
  second.trick = reverts;
  await failsAs("refused", chain.balance(holding, height));
  await failsAs("refused", chain.funds([holding]));
  third.trick = () => undefined;
  await failsAs("refused", chain.balance(holding, height));
  for (const node of nodes) await node.abort();
});
