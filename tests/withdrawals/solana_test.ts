/** Withdrawals on a real Solana node: paid once, however their transactions expire and workers end. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { keepBack, openScene } from "../support/kept_payments.ts";
import { openSolanaRamp, outsider } from "../support/solana_fixture.ts";
import { makeOther, mints } from "../support/nodes/solana_tokens.ts";
import { rowsOf } from "../support/realm.ts";
import { createToken, demandMemo } from "../support/solana_tokens.ts";

Deno.test("a withdrawal of a token on Solana is paid, and costs what the chain took", async () => {
  await using ramp = await openSolanaRamp();
  const to = outsider();
  const { status, body, text } = await ramp.withdraw("5", { destination: { address: to } });
  equal(status, 201, text);
  const done = await ramp.finish(body.id);
  equal(done.status, "DONE", JSON.stringify(done));
  equal(await ramp.token.held(to), 5_000_000n);
  const [order] = await rowsOf<{ fee: string; nonce: number | null }>(
    ramp.realm,
    "select fee, nonce from chain_orders",
  );
  ok(BigInt(order.fee) > 2_000_000n);
  deepEqual(order.nonce, null);
});

Deno.test("a withdrawal on Solana takes tokens from every account of its ramp, where the associated one holds too little", async () => {
  await using ramp = await openSolanaRamp();
  const { node, token, realm: { admin }, poller } = ramp;
  const mint = { ...token, address: token.mint };
  const other = await makeOther(node, ramp.address, mint);
  await node.send([mints(node, mint, other, 500_000_000n)]);
  await node.mine();
  await poller.follow();
  const balance = async () => (await admin.send("GET", `/v1/accounts/${ramp.ramp}`)).body.balance;
  const before = await balance();
  deepEqual(
    [before.total, before.assets],
    ["1500", "1500"],
    "what came to any account is credited",
  );
  const to = outsider();
  const from = { source: { account: ramp.ramp }, destination: { address: to } };
  const { status, body, text } = await ramp.withdraw("1200", from);
  equal(status, 201, text);
  const done = await ramp.finish(body.id);
  equal(done.status, "DONE", JSON.stringify(done));
  equal(await token.held(to), 1_200_000_000n);
  await node.mine();
  await poller.follow();
  const after = await balance();
  deepEqual([after.total, after.assets], ["300", "300"]);
});

Deno.test("a withdrawal on Solana that needs more token accounts than one transaction takes from is FAILED with the most that can be paid at once, and holds up no other", async () => {
  await using ramp = await openSolanaRamp();
  const { node, token, poller } = ramp;
  const mint = { ...token, address: token.mint };
  for (let count = 0; count < 18; count++) {
    const other = await makeOther(node, ramp.address, mint);
    await node.send([mints(node, mint, other, 100_000_000n)]);
  }
  await node.mine();
  await poller.follow();
  const take = async (value: string) => {
    const to = outsider();
    const from = { source: { account: ramp.ramp }, destination: { address: to } };
    const { status, body, text } = await ramp.withdraw(value, from);
    equal(status, 201, text);
    return { id: body.id, to };
  };
  // The usual account holds 1000 and 18 others 100 each; 16 of all fit one transaction.
  const [most, small] = [await take("2600"), await take("50")];
  const failed = await ramp.finish(most.id);
  equal(failed.status, "FAILED", JSON.stringify(failed));
  match(failed.error.detail, /19 token accounts.*from 16: at most 2500 can be paid at once/);
  equal((await ramp.finish(small.id)).status, "DONE");
  const fits = await take("2450");
  const done = await ramp.finish(fits.id);
  equal(done.status, "DONE", JSON.stringify(done));
  deepEqual([await token.held(small.to), await token.held(fits.to)], [50_000_000n, 2_450_000_000n]);
});

Deno.test("of two withdrawals on Solana at once the second waits where the account that the first takes from holds too little for both", async () => {
  await using scene = await openScene();
  const { ramp, faulty } = scene;
  const { node, token, poller } = ramp;
  const mint = { ...token, address: token.mint };
  const other = await makeOther(node, ramp.address, mint);
  await node.send([mints(node, mint, other, 500_000_000n)]);
  await node.mine();
  await poller.follow();
  const kept: string[] = [];
  keepBack(node, faulty, kept, false);
  const made: { id: string; to: string }[] = [];
  for (const value of ["700", "800"]) {
    const to = outsider();
    const from = { source: { account: ramp.ramp }, destination: { address: to } };
    const { status, body, text } = await ramp.withdraw(value, from);
    equal(status, 201, text);
    made.push({ id: body.id, to });
  }
  await ramp.advance();
  equal(kept.length, 1, "the other waits");
  faulty.trick = () => undefined;
  for (const { id, to } of made) {
    const done = await ramp.finish(id);
    equal(done.status, "DONE", JSON.stringify(done));
    ok((await token.held(to) ?? 0n) >= 700_000_000n);
  }
});

Deno.test("a withdrawal on Solana to a mint, or to a receiver that demands a memo, is FAILED with the reason and gives all back; a memo is refused", async () => {
  await using ramp = await openSolanaRamp();
  const { realm: { admin }, node } = ramp;
  const balance = async () =>
    (await admin.send("GET", `/v1/accounts/${ramp.account}`)).body.balance.total;
  const before = await balance();
  const stranger = Keypair.generate();
  const strangers = stranger.publicKey.toBase58();
  await ramp.token.open(strangers);
  await demandMemo(node, ramp.token, stranger);
  const others = await createToken(node, { modern: true });
  const older = await createToken(node);
  await node.mine();
  const receivers: readonly (readonly [string, RegExp])[] = [
    [strangers, /takes only payments with a memo, and withdrawals carry none/],
    [others.mint, /the mint of a token, not a wallet/],
    [older.mint, /the mint of a token, not a wallet/],
  ];
  for (const [address, why] of receivers) {
    const { status, body, text } = await ramp.withdraw("5", { destination: { address } });
    equal(status, 201, text);
    const ended = await ramp.finish(body.id);
    equal(ended.status, "FAILED", JSON.stringify(ended));
    match(ended.error.detail, why);
  }
  equal(await balance(), before);
  const signed = await rowsOf(ramp.realm, "select 1 from order_attempts where hash is not null");
  deepEqual(signed, [], "nothing was signed");
  for (const memo of [{ memo: "invoice 7" }, { destination: { address: outsider(), memo: "7" } }]) {
    const { status, body } = await ramp.withdraw("5", memo);
    deepEqual([status, body.code], [400, "request.invalid"]);
    match(JSON.stringify(body.errors), /memo/);
  }
});
