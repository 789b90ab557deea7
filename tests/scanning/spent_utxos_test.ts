import { deepEqual, equal, match } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { verifyRound } from "../../workers/sending/utxos.ts";
import type { CoinChainId } from "../../workers/chains/bitcoin/networks.ts";
import {
  COIN,
  hurry,
  LITECOIN,
  openUtxoRamp,
  UTXO_CHAINS,
  type UtxoRamp,
} from "../support/utxo_fixture.ts";
import { asSuperuser } from "../support/database.ts";
import { lies, throughNode } from "../support/coin_liars.ts";
import { hasLitecoind, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxo } from "../support/sharing_utxo.ts";
import { type FaultyNode, NodeError } from "../support/nodes/faulty_node.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const PLACE = { chain: "LITECOIN", network: "regtest" } as const;

const test = sharingUtxo("coins that were spent", LITECOIN, ignore);

// The first: what is told of corrected coins is of its own.
test("a coin that the nodes no longer have is taken out of the holdings, with its spender", async ({ funded }) => {
  await paidOnce(funded, "1");
  const before = await coinsOf(funded);
  equal((await checkLedger(funded.realm.pool)).mismatches.length, 0);
  await resurrect(funded);
  const { mismatches } = await checkLedger(funded.realm.pool);
  const codes = new Set(mismatches.map(({ code }) => code));
  deepEqual([...codes].toSorted(), ["coin.holding", "coin.order"]);
  await verifyRound(funded.context, await chainOf(funded), PLACE);
  deepEqual(await coinsOf(funded), before);
  equal((await checkLedger(funded.realm.pool)).mismatches.length, 0);
  await coinsAgree(funded);
  const told = await rowsOf(funded.realm, "select 1 from events where type = 'coin.corrected'");
  equal(told.length, before.filter((coin) => coin.spent_by !== null).length);
});

test("after a halt that is ended as documented, books and coins are those of the chain", async ({ funded }) => {
  const from = await funded.node.rpc<number>("getblockcount");
  await paidOnce(funded, "1");
  await follow(funded, 4);
  await funded.realm.command((tx) =>
    tx`update chain_cursors set halted = ${tx.json({ detail: "no common ancestor" })}`
  );
  const range = { chain: "LITECOIN", testnet: true, from, to: from };
  equal((await funded.realm.admin.send("POST", "/v1/deposits/rescan", range)).status, 200);
  await funded.realm.drain();
  await follow(funded, 4);
  await coinsAgree(funded);
  await funded.agree();
  await funded.realm.admin.send("POST", `/v1/accounts/${funded.ramp}/unfreeze`);
  const [row] = await funded.ended([await send(funded, "7.5")]);
  equal(row.status, "DONE", JSON.stringify(row.error));
  await coinsAgree(funded);
});

for (const utxo of UTXO_CHAINS.filter(({ id }) => id === "LITECOIN" || id === "BITCOIN_CASH")) {
  Deno.test({
    name: `a deposit and its spender, mined again in one block, leave no coin behind: ${utxo.id}`,
    ignore,
    async fn() {
      await using funded = await openUtxoRamp(utxo);
      await funded.node.mine(12);
      await funded.follow();
      const base = await funded.node.rpc<number>("getblockcount");
      await paidOnce(funded, "1", utxo.id);
      await follow(funded, 1);
      const height = await funded.node.rpc<number>("getblockcount");
      await funded.node.reorganise(height - base);
      await funded.node.mine();
      await follow(funded, 4);
      await coinsAgree(funded, utxo.id);
      await funded.agree();
      await funded.realm.admin.send("POST", `/v1/accounts/${funded.ramp}/unfreeze`);
      const [row] = await funded.ended([await send(funded, "2", {}, utxo.id)]);
      equal(row.status, "DONE", JSON.stringify(row.error));
      await coinsAgree(funded, utxo.id);
    },
  });
}

test("a payment that would spend a coin long spent waits until that is found, and is paid once", async ({ funded }) => {
  const source = { account: funded.ramp };
  await funded.fund(9n * COIN);
  const [first] = await funded.ended([await send(funded, "1", { source })]);
  equal(first.status, "DONE");
  // Further back than a run of an order reads.
  await funded.node.mine(14);
  await funded.follow();
  await funded.fund(2n * COIN);
  await resurrect(funded);
  await funded.quote();
  const to = await newParty("LITECOIN");
  const id = await funded.withdraw(to.address, "8.5", { source });
  await funded.advance();
  const [{ error }] = await rowsOf<{ error: string }>(
    funded.realm,
    "select error from chain_orders where state = 'new'",
  );
  match(error, /is gone, and nothing here spent it/);
  await verifyRound(funded.context, await chainOf(funded), PLACE);
  const [row] = await funded.ended([id]);
  equal(row.status, "DONE", JSON.stringify(row.error));
  deepEqual(await funded.held(to.address), [850_000_000n]);
  await coinsAgree(funded);
  await funded.agree();
});

test("another spend of an order's coins ends it only once its block was scanned, also if the quarantine is lifted before", async ({ funded }) => {
  await funded.fund(3n * COIN);
  const source = { account: funded.ramp };
  const id = await send(funded, "1", { source });
  await funded.advance();
  const [{ input }] = await rowsOf<{ input: string }>(
    funded.realm,
    "select input from reserved_inputs",
  );
  await funded.rob((await newParty("LITECOIN")).address, input);
  await funded.node.mine(2);
  // The scanner has seen none of these blocks.
  await funded.advance();
  const lift = "update ramps set quarantined = null where quarantined is not null returning 1";
  equal((await rowsOf(funded.realm, lift)).length, 1);
  for (let pass = 0; pass < 2; pass++) await funded.advance();
  const [{ state, error }] = await rowsOf<{ state: string; error: string }>(
    funded.realm,
    "select state, error from chain_orders order by id desc limit 1",
  );
  equal(state, "sent");
  match(error, /not scanned yet/);
  await funded.follow();
  equal((await funded.withdrawal(id)).status, "PROCESSING", "its block tells of it again");
  await funded.release();
  const [row] = await funded.ended([id]);
  equal(row.status, "FAILED");
});

/** Brings in a deposit and pays out of it. */
async function paidOnce(
  funded: UtxoRamp,
  value: string,
  chain: CoinChainId = "LITECOIN",
): Promise<void> {
  await funded.deposit(9n * COIN);
  await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
  await funded.quote();
  const [row] = await funded.ended([await send(funded, value, {}, chain)]);
  equal(row.status, "DONE");
}

async function send(
  funded: UtxoRamp,
  value: string,
  more = {},
  chain: CoinChainId = "LITECOIN",
): Promise<string> {
  await funded.quote();
  return await funded.withdraw((await newParty(chain)).address, value, more);
}

async function follow(funded: UtxoRamp, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await hurry(funded.realm);
    await funded.node.mine();
    await funded.follow();
  }
}

/** Forgets that coins were spent, as a database put back would. */
async function resurrect(funded: UtxoRamp): Promise<void> {
  const schema = `realm_${funded.realm.id.replaceAll("-", "")}`;
  await asSuperuser(`set session_replication_role = replica;
    update ${schema}.coins set spent_by = null, spent_height = null, kept = null where spent_by is not null;
    set session_replication_role = origin`);
}

async function chainOf(funded: UtxoRamp) {
  return await funded.context.chains.open({ chain: "LITECOIN", testnet: true });
}

async function coinsOf(funded: UtxoRamp) {
  return await rowsOf<{ input: string; spent_by: string | null; spent_height: string | null }>(
    funded.realm,
    "select hash || ':' || index as input, spent_by, spent_height from coins order by 1",
  );
}

/** Demands that the coins taken for unspent are those that the chain has. */
async function coinsAgree(funded: UtxoRamp, chain: CoinChainId = "LITECOIN"): Promise<void> {
  const known = await rowsOf<{ input: string }>(
    funded.realm,
    "select hash || ':' || index as input from coins " +
      "where spent_by is null and height is not null order by 1",
  );
  const there: string[] = [];
  const owned = await rowsOf<{ address: string }>(funded.realm, "select address from addresses");
  for (const { address } of owned) {
    const script = (await scriptOf(chain, "regtest", address)).toHex();
    there.push(...(await funded.node.coins(script)).map(({ hash, index }) => `${hash}:${index}`));
  }
  deepEqual(known.map(({ input }) => input), there.toSorted());
}

Deno.test({
  name: "a node that denies our coins takes none away while the others do not answer",
  ignore,
  async fn() {
    const env: Record<string, string> = {};
    const nodes: FaultyNode[] = [];
    const start = async () => {
      const node = await startLitecoind();
      nodes.push(throughNode(node), throughNode(node));
      env.LITECOIN_TESTNET_RPC_URL = nodes.map(({ url }) => url).join(",");
      return node;
    };
    await using funded = await openUtxoRamp({ ...LITECOIN, start, env });
    const [lying, other] = nodes;
    await using _lying = lying;
    await using _other = other;
    await paidOnce(funded, "1");
    const before = await coinsOf(funded);
    const honest = other.trick;
    lies(lying, ({ method }) => method === "gettxout" ? null : undefined);
    const away = new NodeError(-28, "loading block index");
    lies(other, () => Promise.reject(away));
    await verifyRound(funded.context, await chainOf(funded), PLACE);
    deepEqual(await coinsOf(funded), before);
    other.trick = lying.trick;
    await verifyRound(funded.context, await chainOf(funded), PLACE);
    const gone = await coinsOf(funded);
    const unknown = () =>
      rowsOf<{ input: string; spender_retry_at: string | null }>(
        funded.realm,
        "select hash || ':' || index as input, spender_retry_at from coins where spent_by = 'unknown'",
      );
    equal(gone.filter((coin) => coin.spent_by === "unknown").length > 0, true);
    // It is told, and searched again; no sooner than its turn comes.
    await verifyRound(funded.context, await chainOf(funded), PLACE);
    equal((await unknown()).every((one) => one.spender_retry_at !== null), true);
    for (const node of nodes) node.trick = honest;
    await funded.follow();
    match((await chains(funded)).error, /coins are gone, and no block shows their spenders/);
    await verifyRound(funded.context, await chainOf(funded), PLACE);
    equal((await unknown()).length > 0, true);
    // The nodes have these coins all the same: they were never gone.
    const soon = () =>
      funded.realm.command((tx) =>
        tx`update coins set spender_retry_at = now() - interval '1 second'`
      );
    await soon();
    await verifyRound(funded.context, await chainOf(funded), PLACE);
    deepEqual(await coinsOf(funded), before);
    // And of those that are, a block shows by whom.
    await funded.realm.command((tx) =>
      tx`update coins set spent_by = 'unknown' where spent_by is not null`
    );
    await verifyRound(funded.context, await chainOf(funded), PLACE);
    deepEqual(await coinsOf(funded), before);
    deepEqual(await unknown(), []);
  },
});

// deno-lint-ignore no-explicit-any
async function chains(funded: UtxoRamp): Promise<any> {
  return (await funded.realm.admin.send("GET", "/v1/chains")).body[0];
}
