/** Linked addresses on coin chains, whose addresses have several spellings and whose value lies in coins. */
import { deepEqual, equal } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { deriveAddress } from "../../domain/chains/derivation.ts";
import { RESERVED_AHEAD } from "../../domain/accounts/own_addresses.ts";
import {
  COIN,
  openUtxoRamp,
  UTXO_CHAINS,
  type UtxoChain,
  type UtxoRamp,
} from "../support/utxo_fixture.ts";
import { rowsOf } from "../support/realm.ts";

for (const utxo of UTXO_CHAINS) {
  Deno.test(`${utxo.asset}: an address of ours is linked in no spelling, and a deposit at a linked one cannot be withdrawn`, async () => {
    await using funded = await openUtxoRamp(utxo);
    const { realm } = funded;
    const { send } = realm.admin;
    await funded.fund(20n * COIN);
    const xpub = await xpubOf(funded);
    const account = await virtualOf(funded, utxo);
    const link = async (address: string) => {
      const answer = await send("POST", `/v1/accounts/${account}/assign/${address}`);
      return [answer.status, answer.body.code];
    };
    for (const index of [0, 1, 2, 7, RESERVED_AHEAD]) {
      const address = await deriveAddress(utxo.id, "regtest", xpub, index);
      for (const spelling of spellings(address)) {
        deepEqual(await link(spelling), [409, "address.assigned"], `${index}: ${spelling}`);
      }
    }
    const outside = await deriveAddress(utxo.id, "regtest", xpub, 5000); // as good as a stranger's
    deepEqual(await link(spellings(outside)[1]), [200, undefined]);
    await funded.follow();
    await pay(funded, utxo, outside, 3n * COIN);
    await funded.until(async () => (await funded.account(account)).balance.total === "3");
    const { balance } = await funded.account(account);
    deepEqual(balance, { total: "3", available: "0", linked: "3" });
    await funded.quote();
    const asked = await send("POST", "/v1/withdrawals", {
      source: { account },
      destination: { address: await deriveAddress(utxo.id, "regtest", xpub, 6000) },
      value: "1",
    });
    deepEqual([asked.status, asked.body.code], [409, "balance.insufficient"], asked.text);
  });

  Deno.test(`${utxo.asset}: deposits at a linked address before it was given out are its owner's, coins and all`, async () => {
    await using funded = await openUtxoRamp(utxo);
    const { realm } = funded;
    const { send } = realm.admin;
    const beyond = RESERVED_AHEAD + 300;
    const address = await deriveAddress(utxo.id, "regtest", await xpubOf(funded), beyond);
    const thief = await virtualOf(funded, utxo);
    equal((await send("POST", `/v1/accounts/${thief}/assign/${address}`)).status, 200);
    await funded.follow();
    await pay(funded, utxo, address, 5n * COIN);
    await funded.node.mine();
    await funded.follow();
    const text = "select account::text, status from deposits";
    deepEqual(await rowsOf(realm, text), [{ account: thief, status: "PENDING" }]);
    await realm.command((tx) => tx`update ramps set next_index = ${beyond}`);
    // A deposit made up by one node and denied by the quorum is orphaned, and leaves no coin.
    const denied = { id: crypto.randomUUID(), hash: "f".repeat(64), status: "ORPHANED" };
    const copied = `insert into deposits
      select (jsonb_populate_record(d, '${JSON.stringify(denied)}')).* from deposits d`;
    await rowsOf(realm, copied);
    const given = await send("POST", `/v1/account/${funded.virtual}/address`, {});
    equal(given.body.address.address, address);
    await realm.drain(); // a worker derives it
    equal((await rowsOf(realm, "select 1 from coins where address = $1", [address])).length, 1);
    await funded.quote();
    await funded.until(async () => (await funded.account(funded.virtual)).balance.total > "4.9");
    equal((await funded.account(thief)).balance.total, "0");
    await funded.agree();
  });
}

/** The ways in which an address may be written. */
function spellings(address: string): string[] {
  const [prefix, rest] = address.split(":");
  if (rest !== undefined) return [address, rest, address.toUpperCase(), `${prefix}:${rest}`];
  return /^(bcrt|rltc)1/.test(address) ? [address, address.toUpperCase()] : [address, address];
}

async function pay(
  funded: UtxoRamp,
  utxo: UtxoChain,
  address: string,
  amount: bigint,
): Promise<void> {
  const script = (await scriptOf(utxo.id, "regtest", address)).toHex();
  await funded.node.pay([{ script, amount }]);
}

async function xpubOf({ realm, ramp }: UtxoRamp): Promise<string> {
  const path = `/v1/accounts/${ramp}?populate=address`;
  return (await realm.admin.send("GET", path)).body.address.xpub;
}

async function virtualOf({ realm, ramp }: UtxoRamp, { asset }: UtxoChain): Promise<string> {
  const body = { type: "virtual", asset, testnet: true, ramp };
  const made = await realm.admin.send("POST", "/v1/accounts", body);
  equal(made.status, 201, made.text);
  await realm.drain();
  return made.body.id;
}
