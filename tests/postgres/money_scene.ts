/**
 * A realm whose tables with money have rows: those that the product makes for a deposit, its sweep, withdrawals and
 * moves; and, for what takes another chain or a fault, rows made by hand in a database transaction that is taken back.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { ETHER, quote } from "../support/own_token.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import type { TestRealm } from "../support/realm.ts";

/** Opens the realm, and has the product make rows. */
export async function openMoneyScene(): Promise<RampFixture> {
  const fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const send = async (path: string, body?: unknown) => {
    const answer = await realm.admin.send("POST", path, body);
    equal(answer.status < 300, true, `${path}: ${answer.text}`);
    return answer.body;
  };
  await moveValue(realm, send);
  const { id: ramp } = await fixture.ramp();
  const { id: account } = await send("/v1/accounts", { type: "virtual", asset: "ETH", ramp });
  const { id: linked } = await send("/v1/accounts", { type: "virtual", asset: "ETH" });
  await realm.drain();
  await send(`/v1/accounts/${linked}/assign/0x000000000000000000000000000000000000dEaD`);
  const wanted = { destination: { account }, asset: "ETH" };
  const { source } = await send("/v1/apps/deposit", wanted);
  await realm.drain();
  await fixture.mine();
  await anvil.pool({ to: source.deposit_address, value: 3n * ETHER });
  const asked = { source: { account }, destination: { address: OUTSIDE }, value: "0.5" };
  await mineUntil(fixture, async () => Number((await realm.balance(account)).available) > 2);
  await quote(fixture);
  const { id: paid } = await send("/v1/withdrawals", { ...asked, max_fee: "0.1" });
  const isDone = async () => {
    const { body } = await realm.admin.send("GET", `/v1/withdrawals/${paid}`);
    return body.status === "DONE";
  };
  await mineUntil(fixture, isDone);
  await quote(fixture);
  await send("/v1/withdrawals", asked);
  await anvil.pool({ to: source.deposit_address, value: ETHER });
  await fixture.poller.advance();
  await anvil.mine();
  await fixture.poller.advance();
  await extendHashChain(realm.pool, Date.now);
  return fixture;
}

/** Moves of a virtual currency, blocks, names, rights and a stop. */
async function moveValue(
  realm: TestRealm,
  // deno-lint-ignore no-explicit-any
  send: (path: string, body?: unknown) => Promise<any>,
): Promise<void> {
  const { id, name, account } = await send("/v1/currencies", { name: "GOLD", supply: "1000" });
  await realm.admin.send("PUT", "/v1/rates", { base: name, currency: "USD", rate: "3.3" });
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "10.5" };
  const first = await send("/v1/transactions", { ...move, data: { n: 1 }, reference: "r-1" });
  await send("/v1/transactions", { ...move, reference: "r-2" });
  await send(`/v1/transactions/${first.id}/revert`, {});
  await send(`/v1/currencies/${id}/destroy`, { amount: "3" });
  const blocks = `/v1/accounts/${account}/blocks`;
  for (const end of ["capture", "delete", "none"]) {
    const block = await send(blocks, { amount: "5" });
    const path = `${blocks}/${block.id}`;
    if (end === "capture") {
      await send(`${path}/capture`, { destination: { account: other } });
    }
    if (end === "delete") await realm.admin.send("DELETE", path);
  }
  await send("/v1/aliases", { type: "account", alias: "mine", account });
  await send("/v1/stops", { what: "moves", asset: "BTC", reason: "r" });
  await send("/v1/keys", { name: "importer", roles: "manage" });
  await send("/v1/keys", { name: "second", roles: "manage" });
  await realm.user();
}

const RAMP = "(select account from ramps limit 1)";
const USER = "(select id from users limit 1)";
const HASH = "decode(repeat('00', 32), 'hex')";
/** Statements that make rows of what this realm has none of, in an order that references allow. */
export const BY_HAND: readonly string[] = [
  `insert into archived_parts (bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest)
    values (gen_random_uuid(), 0, 0, 0, ${HASH}, 0, ${HASH}, ${HASH}, ${HASH})`,
  `insert into balance_checkpoints (account, bound, seq, balance) values (${RAMP}, gen_random_uuid(), 1, 1)`,
  `insert into coins (chain, network, hash, index, address, ramp, amount, height, created_at)
    values ('BITCOIN', 'main', 'h', 0, 'x', ${RAMP}, 5, 1, now())`,
  `insert into consolidations (id, account, chain, network, address, asset, speed, max_fee_rate, coins, amount,
      estimate, order_id, created_at)
    values (gen_random_uuid(), ${RAMP}, 'BITCOIN', 'main', 'x', 'BTC', 'slow', 1, 2, 5, 1, gen_random_uuid(), now())`,
  `insert into displaced_orders (hash, order_id, chain, network, ramp, done, state, since, lost_height, created_at)
    select hash, id, chain, network, ramp, true, 'lost', 1, 1, now() from chain_orders where purpose = 'sweep'`,
  `insert into exchange_keys (id, public_key, created_at) select id, ${HASH}, now() from secrets limit 1`,
  `insert into external_ramps (id, ramp, identity, key, credentials, credentials_at, hint, owner, created_at)
    select gen_random_uuid(), 'binance', (select id from identities limit 1), id, decode(repeat('00', 61), 'hex'), now(),
      '1234', ${USER}, now() from exchange_keys`,
  `insert into ramp_transfers (id, external_ramp, exchange, kind, account, asset, value, currency, exchange_network, chain,
      network, address, owner, created_at)
    select gen_random_uuid(), id, ramp, 'deposit', ${RAMP}, 'ETH', 1, 'ETH', 'ETH', 'ETHEREUM', 'main', 'x', owner, now()
    from external_ramps`,
  `insert into ramp_transfers (id, external_ramp, exchange, kind, account, asset, value, currency, exchange_network, chain,
      network, paid_by, speed, block, owner, created_at)
    select gen_random_uuid(), id, ramp, 'withdraw', ${RAMP}, 'ETH', 1, 'ETH', 'ETH', 'ETHEREUM', 'main', 'sender', 'slow',
      gen_random_uuid(), owner, now() from external_ramps`,
  `insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals, external, owner, created_at)
    values (gen_random_uuid(), ${RAMP}, 'ETHEREUM', 'main', 'GOLD_ETH', 5, 18, false, ${USER}, now())`,
  `insert into holder_losses (holder, asset, testnet, day, lost) values (gen_random_uuid(), 'X', false, current_date, 1)`,
  `insert into kin_losses (root, asset, testnet, day, lost) values (gen_random_uuid(), 'X', false, current_date, 1)`,
  `insert into hourly_flows (testnet, hour, asset, type, direction, currency, count, amount)
    values (false, date_trunc('hour', now()), 'X', 'transfer', 'in', 'USD', 1, 1)`,
  `insert into passed_addresses (chain, network, address, ramp, derivation_key, created_at)
    values ('ETHEREUM', 'main', 'x', ${RAMP}, 999, now())`,
  `insert into reserved_inputs (chain, network, input, order_id, created_at)
    values ('ETHEREUM', 'main', 'x:0', gen_random_uuid(), now())`,
  `insert into unused_addresses (account, owner, root) values (${RAMP}, ${USER}, ${USER})`,
  `insert into solvency (asset, testnet, assets, height, liabilities, fees, pending, sending, drift, solvent, stopped,
      provisional, checked_at) values ('X', false, 1, 1, 1, 0, 0, 0, 0, true, false, false, now())`,
  `insert into solvency_samples (asset, testnet, checked_at, hourly, assets, liabilities, fees, pending, sending, drift,
      solvent, height) values ('X', false, now(), true, 1, 1, 0, 0, 0, 0, true, 1)`,
  `insert into unexplained_gains (chain, network, address, above, height, gained, searched, retry_at, created_at)
    values ('ETHEREUM', 'main', 'x', 1, 9, 1, 1, now(), now())`,
  `insert into unmatched_deposits (id, chain, network, hash, index, account, address, amount_base, block, created_at)
    values (gen_random_uuid(), 'ETHEREUM', 'main', 'h', 0, ${RAMP}, 'x', 1, 1, now())`,
  `insert into write_offs (transaction, asset, testnet, amount, drift, height, created_at)
    values (gen_random_uuid(), 'X', false, 1, -1, 1, now())`,
];

/** What "refuses" a statement that no row is there for. */
export const NO_ROW = "no row is tried";

/** Tries statements one by one, each of which is taken back. */
export interface Breaker {
  /**
   * Runs statements, and gives what refuses the last: the name of the constraint, or the message where it has none; null
   * where nothing does.
   */
  refusal(...statements: string[]): Promise<string | null>;
  // deno-lint-ignore no-explicit-any
  read(statement: string): Promise<any[]>;
}

/**
 * Works in the schema of a realm as its owner, in a database transaction that is taken back.
 *
 * @param how.guarded whether triggers run; where they do not, rows by hand are there too
 */
export async function breaking(
  realm: TestRealm,
  how: { guarded: boolean },
  work: (breaker: Breaker) => Promise<void>,
): Promise<void> {
  const undo = new Error("enough tried");
  const { schema } = locationOf(realm.made.realm);
  await realm.database.builder.sql.begin(async (tx) => {
    await tx`set local search_path to ${tx(schema)}`;
    if (!how.guarded) await openTables(tx);
    await work({
      refusal: (...statements) => refusalOf(tx, statements),
      read: async (statement) => [...await tx.unsafe(statement)],
    });
    throw undo;
  }).catch((error) => {
    if (error !== undo) throw error;
  });
}

async function openTables(tx: Tx): Promise<void> {
  const tables = await tx<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`;
  for (const { name } of tables) {
    await tx`alter table ${tx(name)} disable trigger user`;
  }
  for (const statement of BY_HAND) await tx.unsafe(statement);
}

async function refusalOf(
  tx: Tx,
  statements: readonly string[],
): Promise<string | null> {
  const undo = new Error("taken back");
  let done = 0;
  try {
    await tx.savepoint(async (inner) => {
      for (const statement of statements.slice(0, -1)) {
        await inner.unsafe(statement);
        done++;
      }
      const { count } = await inner.unsafe(statements.at(-1)!);
      if (count === 0) throw new Error(NO_ROW);
      await inner.unsafe("set constraints all immediate");
      throw undo;
    });
  } catch (error) {
    if (error === undo) return null;
    const { constraint_name, message } = error as {
      constraint_name?: string;
      message: string;
    };
    const refused = constraint_name ?? message;
    return done < statements.length - 1 ? `not prepared: ${refused}` : refused;
  }
  return null;
}
