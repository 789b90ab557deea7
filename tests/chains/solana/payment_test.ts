/** Payments on a real Solana node: priced, signed, sent, followed, and refused where they would be lost. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import { rentOf } from "../../../workers/chains/solana/accounts.ts";
import type { Plan, SendRequest, Signed } from "../../../workers/chains/outgoing.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import { createToken, demandMemo } from "../../support/solana_tokens.ts";

const SOL = 1_000_000_000n;
const RENT = rentOf(0);

interface Scene {
  readonly node: Surfpool;
  readonly chain: Chain;
  readonly payer: Keypair;
}

/** A payment that is signed and not sent. */
async function sign({ chain }: Pick<Scene, "chain">, order: SendRequest, ...parties: Keypair[]) {
  const plan = chain.plan(await chain.draft(order, "medium"), {});
  return { plan, signed: await signPlanned(chain, plan, parties) };
}

async function signPlanned(chain: Chain, plan: Plan, parties: readonly Keypair[]): Promise<Signed> {
  const keys = new Map(parties.map((one) => [nameOf(one), one.secretKey.slice(0, 32)]));
  return { ...await chain.sign(plan, keys), body: plan.body };
}

/** Sends signed bytes, and reads their final status. */
async function follow({ node, chain }: Scene, signed: Signed) {
  const ask = () => chain.status({ attempts: [signed], since: 0, depth: 1 });
  statusIs(await ask(), "unseen");
  equal((await chain.broadcast(signed)).outcome, "accepted");
  statusIs(await ask(), "pending");
  await node.mine();
  return statusIs(await ask(), "mined");
}

function pays(
  from: Keypair,
  payments: readonly (readonly [string, bigint | "all"])[],
  contract: string | null = null,
  feePayer?: Keypair,
): SendRequest {
  return {
    kind: "pay",
    from: nameOf(from),
    contract,
    payments: payments.map(([to, amount]) => ({ to, amount })),
    ...(feePayer ? { feePayer: nameOf(feePayer) } : {}),
  };
}

function nameOf({ publicKey }: Keypair): string {
  return publicKey.toBase58();
}

function newName(): string {
  return nameOf(Keypair.generate());
}

async function lamportsOf(node: Surfpool, address: string): Promise<bigint> {
  const commitment = "processed";
  const { value } = await node.raw<{ value: number }>("getBalance", address, { commitment });
  return BigInt(value);
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(() => null, (fault) => fault as Error & { fault: string });
  equal(error?.fault, "refused", `${error?.message ?? "it was not refused"}`);
  return error!.message;
}

Deno.test("payments of SOL and of tokens of both programs arrive, for exactly what was planned at most", async (t) => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const scene: Scene = { node, chain, payer: node.payer };
  const { payer } = node;
  await t.step("SOL, to somebody new", async () => {
    const to = newName();
    const before = await lamportsOf(node, nameOf(payer));
    const { plan, signed } = await sign(scene, pays(payer, [[to, SOL]]), payer);
    const mined = await follow(scene, signed);
    deepEqual([mined.success, mined.final, mined.fee], [true, true, plan.fee]);
    equal(await lamportsOf(node, to), SOL);
    equal(await lamportsOf(node, nameOf(payer)), before - SOL - plan.fee);
    deepEqual((await chain.broadcast(signed)).outcome, "known");
    equal(await chain.raw({ hash: signed.hash, height: mined.block.height }), signed.raw);
  });
  for (const modern of [false, true]) {
    await t.step(`a token of the ${modern ? "newer" : "older"} program`, async () => {
      const token = await createToken(node, { modern });
      const owner = Keypair.generate();
      await node.pay(nameOf(owner), SOL);
      await token.pay(nameOf(owner), 1_000_000n);
      const to = newName();
      const first = await sign(scene, pays(owner, [[to, 400_000n]], token.mint), owner);
      const before = await lamportsOf(node, nameOf(owner));
      const mined = await follow(scene, first.signed);
      // The account was made for the receiver, and its rent is a part of the cost.
      equal(mined.fee, first.plan.fee);
      ok(mined.fee > rentOf(165));
      equal(await lamportsOf(node, nameOf(owner)), before - mined.fee);
      deepEqual([await token.held(to), await token.held(nameOf(owner))], [400_000n, 600_000n]);
      const seen = await chain.inspect(first.signed.raw);
      deepEqual(seen.payments, [{ to, contract: token.mint, amount: 400_000n }]);
      deepEqual(seen.from, [nameOf(owner)]);
      // Now the receiver has one.
      const sweep = pays(owner, [[to, "all"]], token.mint, payer);
      const second = await sign(scene, sweep, owner, payer);
      deepEqual(second.plan.signers, [nameOf(payer), nameOf(owner)]);
      ok((await follow(scene, second.signed)).fee < 50_000n);
      // The emptied account is closed.
      deepEqual([await token.held(to), await token.held(nameOf(owner))], [1_000_000n, null]);
    });
  }
  await t.step("several at once, some to new receivers", async () => {
    const token = await createToken(node);
    await token.pay(nameOf(payer), 1_000n);
    const receivers = Array.from({ length: chain.traits.paymentsMax }, newName);
    await token.open(receivers[0]);
    const amounts = receivers.map((to, at) => [to, BigInt(at + 1)] as const);
    const { plan, signed } = await sign(scene, pays(payer, amounts, token.mint), payer);
    const mined = await follow(scene, signed);
    deepEqual([mined.success, mined.fee], [true, plan.fee]);
    for (const [to, amount] of amounts) equal(await token.held(to), amount);
    const many = [...amounts, [newName(), 1n] as const];
    match(await refusal(chain.draft(pays(payer, many, token.mint), "slow")), /at most 8/);
  });
  await t.step("everything, which leaves nothing behind", async () => {
    const owner = Keypair.generate();
    await node.pay(nameOf(owner), SOL);
    const to = newName();
    const { plan, signed } = await sign(scene, pays(owner, [[to, "all"]]), owner);
    equal(plan.amounts[0] + plan.fee, SOL);
    await follow(scene, signed);
    deepEqual([await lamportsOf(node, nameOf(owner)), await lamportsOf(node, to)], [
      0n,
      SOL - plan.fee,
    ]);
  });
  chain.close();
});

Deno.test("a token is deployed with its name and its whole supply, of which nobody makes more", async () => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const { payer } = node;
  const token = { name: "Gold of Zürich", symbol: "GOLD", decimals: 6, supply: 10n ** 15n };
  const order: SendRequest = { kind: "deploy", from: nameOf(payer), token };
  const before = await lamportsOf(node, nameOf(payer));
  const { plan, signed } = await sign({ chain }, order, payer);
  const seen = await chain.inspect(signed.raw);
  deepEqual([seen.creates, seen.payments], [plan.creates, []]);
  const elsewhere = { ...JSON.parse(plan.body), mint: { mint: newName(), seed: "0" } };
  const bad = { ...plan, body: JSON.stringify(elsewhere) };
  await failsAs("refused", signPlanned(chain, bad, [payer]));
  const mined = await follow({ node, chain, payer }, signed);
  deepEqual([mined.success, mined.fee], [true, plan.fee]);
  equal(await lamportsOf(node, nameOf(payer)), before - plan.fee);
  const told = await chain.token(plan.creates!);
  deepEqual(
    [told?.name, told?.symbol, told?.decimals, told?.supply],
    [token.name, token.symbol, token.decimals, token.supply],
  );
  const to = newName();
  const moved = await sign({ chain }, pays(payer, [[to, 5n]], plan.creates), payer);
  equal((await follow({ node, chain, payer }, moved.signed)).success, true);
  const many = { ...token, supply: 2n ** 64n };
  match(await refusal(chain.draft({ ...order, token: many }, "slow")), /at most/);
  chain.close();
});

Deno.test("two equal payments in one moment are two transactions", async () => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const { payer } = node;
  const to = newName();
  const made = [];
  for (let count = 0; count < 2; count++) {
    made.push(await sign({ chain }, pays(payer, [[to, SOL]]), payer));
  }
  const [one, other] = made.map(({ signed }) => signed);
  equal(JSON.parse(one.body!).blockhash, JSON.parse(other.body!).blockhash);
  notEqual(one.hash, other.hash);
  for (const signed of [one, other]) await follow({ node, chain, payer }, signed);
  equal(await lamportsOf(node, to), 2n * SOL);
  chain.close();
});

Deno.test("what would be lost or could not arrive is refused before it is signed", async (t) => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const { payer } = node;
  const token = await createToken(node, { modern: true });
  await token.pay(nameOf(payer), 1_000n);
  const draft = (order: SendRequest) => chain.draft(order, "medium");
  const payToken = (to: string, mint = token.mint) => draft(pays(payer, [[to, 1n]], mint));
  await t.step("a token account, a mint and a program as the receiver", async () => {
    const wallet = newName();
    await token.open(wallet);
    for (const pay of [payToken, (to: string) => draft(pays(payer, [[to, SOL]]))]) {
      match(await refusal(pay(token.account(wallet))), /a token account, not a wallet/);
      match(await refusal(pay(token.mint)), /the mint of a token, not a wallet/);
      match(await refusal(pay(token.program)), /a program, not a wallet/);
    }
  });
  await t.step("less than the rent's minimum to a new receiver", async () => {
    match(await refusal(draft(pays(payer, [[newName(), RENT - 1n]]))), /rent-exempt minimum/);
    const known = newName();
    await node.pay(known, RENT);
    await draft(pays(payer, [[known, 1n]]));
  });
  await t.step("a payment that leaves the sender below that minimum waits", async () => {
    const owner = Keypair.generate();
    await node.pay(nameOf(owner), SOL);
    ok((await draft(pays(owner, [[newName(), SOL - RENT]]))).lacking > 0n);
    equal((await draft(pays(owner, [[newName(), SOL - 2n * RENT]]))).lacking, 0n);
    await failsAs("insufficient", draft(pays(owner, [[newName(), SOL + 1n]])));
  });
  await t.step("a frozen account, of the receiver or our own", async () => {
    const frozen = Keypair.generate();
    await token.pay(nameOf(frozen), 5n);
    await token.freeze(nameOf(frozen));
    match(await refusal(payToken(nameOf(frozen))), /frozen the token account/);
    const order = pays(frozen, [[newName(), 1n]], token.mint, payer);
    match(await refusal(draft(order)), /frozen the token account/);
  });
  await t.step("a receiver that demands a memo", async () => {
    const owner = Keypair.generate();
    await token.open(nameOf(owner));
    await demandMemo(node, token, owner);
    match(await refusal(payToken(nameOf(owner))), /only payments with a memo/);
  });
  await t.step("a token that runs a program at each transfer", async () => {
    const hooked = await createToken(node, { hook: newName() });
    await hooked.pay(nameOf(payer), 5n);
    match(await refusal(payToken(newName(), hooked.mint)), /runs the program .* at each transfer/);
  });
  await t.step("no token, and more than is there", async () => {
    match(await refusal(payToken(newName(), newName())), /no token lives at/);
    await failsAs("insufficient", draft(pays(payer, [[newName(), 1_001n]], token.mint)));
  });
  await t.step("more than its budget", async () => {
    const budget = { contract: null, units: 1_000n };
    await failsAs("exceeded", chain.draft(pays(payer, [[newName(), SOL]]), "fast", budget));
  });
  await t.step("a replacement", async () => {
    const { plan } = await sign({ chain }, pays(payer, [[newName(), SOL]]), payer);
    const again = await draft(pays(payer, [[newName(), SOL]]));
    await failsAs("unsupported", Promise.resolve().then(() => chain.plan(again, {}, plan)));
    const how = { speed: "fast", budget: null, cancels: true } as const;
    await failsAs("unsupported", chain.redraft(plan, how));
  });
  chain.close();
});

Deno.test("the same plan signs to the same bytes, and to none with another key or for another receiver", async () => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const { payer } = node;
  const other = Keypair.generate();
  const { plan, signed } = await sign({ chain }, pays(payer, [[newName(), SOL]]), payer);
  deepEqual(await signPlanned(chain, plan, [payer]), signed);
  await failsAs("refused", signPlanned(chain, plan, []));
  const wrong = new Map([[nameOf(payer), other.secretKey.slice(0, 32)]]);
  await failsAs("refused", chain.sign(plan, wrong));
  const bent = signed.raw.slice(0, 20) + (signed.raw[20] === "A" ? "B" : "A") +
    signed.raw.slice(21);
  await failsAs("refused", chain.inspect(bent));
  const body = JSON.parse(plan.body);
  const changes = [{ price: "90000000000" }, { creates: [true] }, { feePayer: nameOf(other) }];
  for (const change of changes) {
    const bad = { ...plan, body: JSON.stringify({ ...body, ...change }) };
    await failsAs("refused", signPlanned(chain, bad, [payer, other]));
  }
  chain.close();
});
