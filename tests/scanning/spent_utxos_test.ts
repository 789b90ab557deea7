import { deepEqual, equal, match } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { verifyRound } from "../../workers/sending/utxos.ts";
import type { CoinChainId } from "../../workers/chains/bitcoin/networks.ts";
import {
  COIN,
  type CoinDesk,
  hurry,
  LITECOIN,
  openCoinDesk,
  PLAYS,
} from "../support/utxo_fixture.ts";
import { lies, throughNode } from "../support/coin_liars.ts";
import { hasLitecoind, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { type Rogue, RogueError } from "../support/nodes/misbehaving_node.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const PLACE = { chain: "LITECOIN", network: "regtest" } as const;

Deno.test({
  name: "after a halt that is ended as documented, books and coins are those of the chain",
  ignore,
  async fn() {
    await using desk = await openCoinDesk(LITECOIN);
    const from = await desk.node.rpc<number>("getblockcount");
    await paidOnce(desk, "1");
    await follow(desk, 4);
    await desk.realm.command((tx) =>
      tx`update chain_cursors set halted = ${tx.json({ detail: "no common ancestor" })}`
    );
    const range = { chain: "LITECOIN", testnet: true, from, to: from };
    equal((await desk.realm.admin.send("POST", "/v1/deposits/rescan", range)).status, 200);
    await desk.realm.drain();
    await follow(desk, 4);
    await coinsAgree(desk);
    await desk.agree();
    await desk.realm.admin.send("POST", `/v1/accounts/${desk.ramp}/unfreeze`);
    const [row] = await desk.ended([await send(desk, "7.5")]);
    equal(row.status, "DONE", JSON.stringify(row.error));
    await coinsAgree(desk);
  },
});

for (const play of PLAYS.filter(({ id }) => id === "LITECOIN" || id === "BITCOIN_CASH")) {
  Deno.test({
    name:
      `a deposit and what spends it, mined again in one block, leave no coin behind: ${play.id}`,
    ignore,
    async fn() {
      await using desk = await openCoinDesk(play);
      await desk.node.mine(12);
      await desk.follow();
      const base = await desk.node.rpc<number>("getblockcount");
      await paidOnce(desk, "1", play.id);
      await follow(desk, 1);
      const height = await desk.node.rpc<number>("getblockcount");
      await desk.node.reorganise(height - base);
      await desk.node.mine();
      await follow(desk, 4);
      await coinsAgree(desk, play.id);
      await desk.agree();
      await desk.realm.admin.send("POST", `/v1/accounts/${desk.ramp}/unfreeze`);
      const [row] = await desk.ended([await send(desk, "2", {}, play.id)]);
      equal(row.status, "DONE", JSON.stringify(row.error));
      await coinsAgree(desk, play.id);
    },
  });
}

Deno.test({
  name: "a coin that the nodes no longer have is taken out of the holdings, with its spender",
  ignore,
  async fn() {
    await using desk = await openCoinDesk(LITECOIN);
    await paidOnce(desk, "1");
    const before = await coinsOf(desk);
    equal((await checkLedger(desk.realm.pool)).mismatches.length, 0);
    await resurrect(desk);
    const { mismatches } = await checkLedger(desk.realm.pool);
    const codes = new Set(mismatches.map(({ code }) => code));
    deepEqual([...codes].toSorted(), ["coin.holding", "coin.order"]);
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    deepEqual(await coinsOf(desk), before);
    equal((await checkLedger(desk.realm.pool)).mismatches.length, 0);
    await coinsAgree(desk);
    const told = await rowsOf(desk.realm, "select 1 from events where type = 'coin.corrected'");
    equal(told.length, before.filter((coin) => coin.spent_by !== null).length);
  },
});

Deno.test({
  name: "a payment that would spend a coin long spent waits until that is found, and is paid once",
  ignore,
  async fn() {
    await using desk = await openCoinDesk(LITECOIN);
    const source = { account: desk.ramp };
    await desk.fund(9n * COIN);
    const [first] = await desk.ended([await send(desk, "1", { source })]);
    equal(first.status, "DONE");
    // Further back than a look at an order goes.
    await desk.node.mine(14);
    await desk.follow();
    await desk.fund(2n * COIN);
    await resurrect(desk);
    await desk.quote();
    const to = await newParty("LITECOIN");
    const id = await desk.withdraw(to.address, "8.5", { source });
    await desk.look();
    const [{ error }] = await rowsOf<{ error: string }>(
      desk.realm,
      "select error from orders where state = 'new'",
    );
    match(error, /is gone, and nothing here spent it/);
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    const [row] = await desk.ended([id]);
    equal(row.status, "DONE", JSON.stringify(row.error));
    deepEqual(await desk.held(to.address), [850_000_000n]);
    await coinsAgree(desk);
    await desk.agree();
  },
});

Deno.test({
  name:
    "what took an order's coins ends it only once its block was scanned, whoever lifts the quarantine before",
  ignore,
  async fn() {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(3n * COIN);
    const source = { account: desk.ramp };
    const id = await send(desk, "1", { source });
    await desk.look();
    const [{ claim }] = await rowsOf<{ claim: string }>(desk.realm, "select claim from claims");
    await desk.rob((await newParty("LITECOIN")).address, claim);
    await desk.node.mine(2);
    // The scanner has seen none of these blocks.
    await desk.look();
    const lift = "update ramps set quarantined = null where quarantined is not null returning 1";
    equal((await rowsOf(desk.realm, lift)).length, 1);
    for (let look = 0; look < 2; look++) await desk.look();
    const [{ state, error }] = await rowsOf<{ state: string; error: string }>(
      desk.realm,
      "select state, error from orders",
    );
    equal(state, "sent");
    match(error, /not scanned yet/);
    await desk.follow();
    equal((await desk.withdrawal(id)).status, "PROCESSING", "its block tells of it again");
    await desk.release();
    const [row] = await desk.ended([id]);
    equal(row.status, "FAILED");
  },
});

/** Brings in a deposit and pays out of it. */
async function paidOnce(
  desk: CoinDesk,
  value: string,
  chain: CoinChainId = "LITECOIN",
): Promise<void> {
  await desk.deposit(9n * COIN);
  await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
  await desk.quote();
  const [row] = await desk.ended([await send(desk, value, {}, chain)]);
  equal(row.status, "DONE");
}

async function send(
  desk: CoinDesk,
  value: string,
  more = {},
  chain: CoinChainId = "LITECOIN",
): Promise<string> {
  await desk.quote();
  return await desk.withdraw((await newParty(chain)).address, value, more);
}

async function follow(desk: CoinDesk, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await hurry(desk.realm);
    await desk.node.mine();
    await desk.follow();
  }
}

/** Forgets that coins were spent, as a database put back would. */
async function resurrect(desk: CoinDesk): Promise<void> {
  await desk.realm.command((tx) =>
    tx`update coins set spent_by = null, spent_height = null, kept = null where spent_by is not null`
  );
}

async function chainOf(desk: CoinDesk) {
  return await desk.context.chains.open({ chain: "LITECOIN", testnet: true });
}

async function coinsOf(desk: CoinDesk) {
  return await rowsOf<{ claim: string; spent_by: string | null; spent_height: string | null }>(
    desk.realm,
    "select hash || ':' || index as claim, spent_by, spent_height from coins order by 1",
  );
}

/** Demands that the coins taken for unspent are those that the chain has. */
async function coinsAgree(desk: CoinDesk, chain: CoinChainId = "LITECOIN"): Promise<void> {
  const known = await rowsOf<{ claim: string }>(
    desk.realm,
    "select hash || ':' || index as claim from coins " +
      "where spent_by is null and height is not null order by 1",
  );
  const there: string[] = [];
  const owned = await rowsOf<{ address: string }>(desk.realm, "select address from addresses");
  for (const { address } of owned) {
    const script = (await scriptOf(chain, "regtest", address)).toHex();
    there.push(...(await desk.node.coins(script)).map(({ hash, index }) => `${hash}:${index}`));
  }
  deepEqual(known.map(({ claim }) => claim), there.toSorted());
}

Deno.test({
  name: "a node that denies our coins takes none away while the others do not answer",
  ignore,
  async fn() {
    const env: Record<string, string> = {};
    const nodes: Rogue[] = [];
    const start = async () => {
      const node = await startLitecoind();
      nodes.push(throughNode(node), throughNode(node));
      env.LITECOIN_TESTNET_RPC_URL = nodes.map(({ url }) => url).join(",");
      return node;
    };
    await using desk = await openCoinDesk({ ...LITECOIN, start, env });
    const [liar, other] = nodes;
    await using _liar = liar;
    await using _other = other;
    await paidOnce(desk, "1");
    const before = await coinsOf(desk);
    const honest = other.trick;
    lies(liar, ({ method }) => method === "gettxout" ? null : undefined);
    const away = new RogueError(-28, "loading block index");
    lies(other, () => Promise.reject(away));
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    deepEqual(await coinsOf(desk), before);
    other.trick = liar.trick;
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    const gone = await coinsOf(desk);
    const unknown = () =>
      rowsOf<{ claim: string; spender_retry_at: string | null }>(
        desk.realm,
        "select hash || ':' || index as claim, spender_retry_at from coins where spent_by = 'unknown'",
      );
    equal(gone.filter((coin) => coin.spent_by === "unknown").length > 0, true);
    // It is told, and searched again; no sooner than its turn comes.
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    equal((await unknown()).every((one) => one.spender_retry_at !== null), true);
    for (const node of nodes) node.trick = honest;
    await desk.follow();
    match((await chains(desk)).error, /coins are gone, and no block shows who spent them/);
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    equal((await unknown()).length > 0, true);
    // The nodes have these coins all the same: they were never gone.
    const soon = () =>
      desk.realm.command((tx) =>
        tx`update coins set spender_retry_at = now() - interval '1 second'`
      );
    await soon();
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    deepEqual(await coinsOf(desk), before);
    // And of those that are, a block shows by whom.
    await desk.realm.command((tx) =>
      tx`update coins set spent_by = 'unknown' where spent_by is not null`
    );
    await verifyRound(desk.context, await chainOf(desk), PLACE);
    deepEqual(await coinsOf(desk), before);
    deepEqual(await unknown(), []);
  },
});

// deno-lint-ignore no-explicit-any
async function chains(desk: CoinDesk): Promise<any> {
  return (await desk.realm.admin.send("GET", "/v1/chains")).body[0];
}
