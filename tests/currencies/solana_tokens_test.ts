/** Tokens of the realm's own on a real Solana node: deployed, registered, withdrawn. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { serializable } from "../../db/transaction.ts";
import { counterparty, postMove } from "../../domain/ledger/posting.ts";
import { toUnits } from "../../domain/money.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { openSolanaFixture, type SolanaFixture } from "../support/solana_deposit_fixture.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { outsider } from "../support/solana_fixture.ts";
import {
  makesUsual,
  moves,
  TOKEN_2022_PROGRAM,
  usualAccount,
} from "../support/nodes/solana_tokens.ts";
import { driftsOf } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { SOON } from "../support/own_token.ts";
import { createToken } from "../support/solana_tokens.ts";

const SOL = 1_000_000_000n;
const DEPLOY = "/v1/fungible/token/deploy";
const REGISTER = "/v1/fungible/token/register";

async function quote({ realm }: SolanaFixture): Promise<void> {
  const context = await workerContextOf(realm);
  await refreshFees({
    ...context,
    actor: { ...context.actor, at: Date.now() },
  });
  context.chains.close();
}

Deno.test("a token on Solana is deployed, registered, withdrawn, and swept when it comes back; its rent is booked", async () => {
  await using fixture = await openSolanaFixture();
  const { realm: { admin }, node } = fixture;
  const ramp = await fixture.ramp();
  await fixture.mine();
  await node.pay(ramp.address, SOL);
  await fixture.mineUntil(async () => (await fixture.account(ramp.id)).balance.total === "1");
  await quote(fixture);
  const token = {
    name: "Gold",
    symbol: "GOLD",
    supply: "1000",
    decimal_places: 6,
  };
  const many = { ...token, supply: "18446744073710", account: ramp.id };
  const refused = await admin.send("POST", DEPLOY, many, SOON);
  deepEqual(
    [refused.status, refused.body.code],
    [400, "request.invalid"],
    refused.text,
  );
  match(refused.text, /counts up to 18446744073709.551615/);
  const made = await admin.send(
    "POST",
    DEPLOY,
    { ...token, account: ramp.id },
    SOON,
  );
  equal(made.status, 201, made.text);
  const path = `/v1/fungible/token/${made.body.id}`;
  await fixture.mineUntil(async () => (await admin.send("GET", path)).body.status === "deployed");
  const own = { account: ramp.id, symbol: "GOLD" };
  const registered = await admin.send("POST", REGISTER, own, SOON);
  equal(registered.status, 201, registered.text);
  await fixture.mine();
  await quote(fixture);
  const { virtualCurrency, contractAddress: mint } = (await admin.send("GET", path)).body;
  const { account } = (await admin.send("GET", `/v1/currencies/${virtualCurrency}`)).body;
  const holder = Keypair.generate();
  const to = holder.publicKey.toBase58();
  const withdrawal = await admin.send("POST", "/v1/withdrawals", {
    ...{ source: { account }, destination: { address: to }, value: "40" },
  });
  equal(withdrawal.status, 201, withdrawal.text);
  const read = async () => (await admin.send("GET", `/v1/withdrawals/${withdrawal.body.id}`)).body;
  await fixture.mineUntil(async () => (await read()).status !== "PROCESSING");
  equal((await read()).status, "DONE");
  const held = await node.rpc<
    { value: { account: { data: { parsed: unknown } } }[] }
  >(
    "getTokenAccountsByOwner",
    to,
    { mint },
    { encoding: "jsonParsed" },
  );
  match(JSON.stringify(held), /"amount":"40000000"/);
  ok(
    BigInt(
      Math.round(Number((await fixture.account(ramp.id)).balance.total) * 1e9),
    ) < SOL,
  );
  await returned(fixture, { ramp: ramp.id, mint, holder });
});

/** A holder pays back to a deposit address, in an account whose rent the holder's wallet bears. */
async function returned(
  fixture: SolanaFixture,
  { ramp, mint: address, holder }: {
    ramp: string;
    mint: string;
    holder: Keypair;
  },
): Promise<void> {
  const { realm: { admin }, node } = fixture;
  const made = await admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "GOLD_SOL",
  });
  equal(made.status, 201, made.text);
  const deposit = await fixture.address(made.body.id);
  const mint = { address, program: TOKEN_2022_PROGRAM, decimals: 6 };
  const owner = holder.publicKey.toBase58();
  const [from, to] = [owner, deposit.address].map((one) => usualAccount(one, mint));
  await node.send([
    makesUsual(node, deposit.address, mint),
    moves(node, mint, { from, to, amount: 15_000_000n, owner }),
  ], [holder]);
  const { value: rent } = await node.rpc<{ value: number }>("getBalance", to);
  const before = toUnits((await fixture.account(ramp)).balance.total, 9);
  await fixture.mineUntil(async () => (await fixture.account(made.body.id)).balance.total === "15");
  await fixture.mine();
  const [order] = await rowsOf<{ fee: string; refund: string }>(
    fixture.realm,
    "select fee, refund from chain_orders where purpose = 'sweep'",
  );
  equal(order.refund, `${rent}`, "the rent of the account that was closed");
  const after = toUnits((await fixture.account(ramp)).balance.total, 9);
  equal(
    after - before,
    BigInt(order.refund) - BigInt(order.fee),
    "the ramp's account has it",
  );
  deepEqual(await driftsOf(fixture), [["GOLD_SOL", "0"], ["SOL", "0"]]);
}

Deno.test("nothing comes back from the chain that no order's refund explains", async () => {
  await using fixture = await openSolanaFixture();
  const { realm } = fixture;
  const actor = { ...realm.admin.actor, at: Date.now() };
  const sol = { code: "SOL", decimals: 9, testnet: true };
  const invented = serializable(realm.pool, async (tx) => {
    await postMove(tx, actor, {
      type: "return",
      source: await counterparty(tx, actor, "world", sol),
      destination: await counterparty(tx, actor, "fees", sol),
      amount: "0.00203928",
    }, { force: true });
  }, { lockLedger: true });
  await rejects(invented, /transactions_refund|no refund stands behind/);
});

Deno.test("a third party's mint on Solana is registered if it agrees, up to the ramp's balance", async () => {
  await using fixture = await openSolanaFixture();
  const { realm: { admin }, node } = fixture;
  const ramp = await fixture.ramp();
  let token = await createToken(node, { decimals: 6 });
  await token.pay(ramp.address, 50_000_000n);
  await node.pay(ramp.address, SOL);
  await fixture.mine(2);
  const ask = async (supply: string, decimals: number, symbol: string) => {
    const body = {
      account: ramp.id,
      symbol,
      contract_address: token.mint,
      supply,
      decimal_places: decimals,
    };
    const asked = await admin.send("POST", REGISTER, body, SOON);
    if (asked.status !== 201) return asked.body.code;
    const path = `/v1/fungible/token/${asked.body.id}`;
    await fixture.mineUntil(async () => (await admin.send("GET", path)).body.status !== "pending");
    const { status, error, freezeAuthority } = (await admin.send("GET", path)).body;
    return error?.detail ?? `${status}, may be frozen by ${freezeAuthority}`;
  };
  match(await ask("10", 9, "ONE"), /has 6 decimal places, not 9/);
  await token.pay(outsider(), 50_000_000n);
  await fixture.mine();
  match(await ask("51", 6, "THREE"), /the ramp holds no more than 50/);
  const payer = node.payer.publicKey.toBase58();
  equal(await ask("50", 6, "FOUR"), `registered, may be frozen by ${payer}`);
  const rightsOf = async (symbol: string) => {
    const all = (await admin.send("GET", "/v1/fungible/token/all")).body;
    return all.find((one: { symbol: string }) => one.symbol === `${symbol}_SOL`).issuerRights;
  };
  const none = { permanentDelegate: null, pause: null, close: null, transferHook: null };
  deepEqual(await rightsOf("FOUR"), { ...none, mint: payer, confidentialTransfers: false });
  token = await createToken(node, { decimals: 6, rights: true });
  await token.pay(ramp.address, 50_000_000n);
  await fixture.mine();
  equal(await ask("50", 6, "FIVE"), `registered, may be frozen by ${payer}`);
  const { transferHook, ...rights } = await rightsOf("FIVE");
  const all = { mint: payer, permanentDelegate: payer, pause: payer, close: payer };
  deepEqual(rights, { ...all, confidentialTransfers: true });
  equal(typeof transferHook, "string");
});
