import { deepEqual, equal, match, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, openUtxoRamp, UTXO_CHAINS } from "../support/utxo_fixture.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const MANY = 700;
/** As many coins as fit one transaction of Dogecoin. */
const FITTING = 641;

Deno.test({
  name:
    "DOGE: a withdrawal that needs more coins than fit one transaction is refused with the remedy, and one of as many is paid",
  ignore: !hasLitecoind(),
  fn: async () => {
    const chain = UTXO_CHAINS.find(({ asset }) => asset === "DOGE")!;
    await using funded = await openUtxoRamp(chain);
    await funded.fund(...Array(MANY).fill(COIN / 2n));
    const { send } = funded.realm.admin;
    const to = (await newParty("DOGECOIN")).address;
    const ask = async (value: string) => {
      await funded.quote();
      const source = { account: funded.ramp };
      return await send("POST", "/v1/withdrawals", { source, destination: { address: to }, value });
    };
    const refused = await ask("330");
    deepEqual([refused.status, refused.body.code], [409, "ramp.assets_insufficient"]);
    match(refused.body.detail, /641 largest coins.*consolidate/);
    const { status, body: { id } } = await ask(`${(FITTING - 5) / 2}`);
    equal(status, 201);
    const [done] = await funded.ended([id]);
    equal(done.status, "DONE", JSON.stringify(done));
    deepEqual(await funded.held(to), [BigInt(FITTING - 5) * COIN / 2n]);
    await funded.agree();
  },
});

Deno.test({
  name:
    "DOGE: of two withdrawals of which one fits, the other is told to wait for a consolidation, is tried ever more rarely, and is paid after it",
  ignore: !hasLitecoind(),
  fn: async () => {
    const chain = UTXO_CHAINS.find(({ asset }) => asset === "DOGE")!;
    await using funded = await openUtxoRamp(chain);
    await funded.fund(...Array(400).fill(COIN / 2n), ...Array(1500).fill(COIN / 10n));
    const { realm } = funded;
    const to = (await newParty("DOGECOIN")).address;
    await funded.quote();
    const source = { account: funded.ramp };
    const both = [1, 2].map(() => funded.withdraw(to, "170", { source }));
    const ids = await Promise.all(both);
    const read = () => Promise.all(ids.map(funded.withdrawal));
    // Both are tried at once: either takes the coins.
    await funded.until(async () => (await read()).some(({ status }) => status === "DONE"));
    const [waiting] = (await read()).filter(({ status }) => status === "PROCESSING");
    const { id: second } = waiting;
    deepEqual(
      waiting.history.map(({ event }: { event: string }) => event),
      ["created", "waiting"],
      "told once, however often it was tried",
    );
    match(waiting.history[1].reason, /^ramp\.assets_insufficient: .* consolidated$/);
    const pauseOf = async () => {
      await funded.advance();
      const [{ pause }] = await rowsOf<{ pause: number }>(
        realm,
        `select extract(epoch from j.run_at - now())::float8 as pause from jobs j
          join chain_orders o on j.payload ->> 'order' = o.id::text
            and (j.payload ->> 'version')::integer = o.schedule_version where o.state = 'new'`,
      );
      return pause;
    };
    await realm.command((tx) =>
      tx`update chain_orders set created_at = created_at - interval '1 hour' where state = 'new'`
    );
    const soon = await pauseOf();
    ok(soon < 20, `it was held for an hour, and short for a moment: ${soon} s`);
    await realm.command((tx) =>
      tx`update withdrawals set history = jsonb_set(history, '{1,at}',
        to_jsonb((history -> 1 ->> 'at')::float8 - 3600000)) where id = ${second}`
    );
    const pause = await pauseOf();
    ok(pause > 300 && pause < 400, `a tenth of the time that it was short: ${pause} s`);

    await rowsOf(
      realm,
      `with tried as (update chain_orders set last_attempt_at = now() - interval '1 hour')
        update jobs set created_at = now() - interval '1 hour'`,
    );
    const tried = "select from chain_orders where last_attempt_at > now() - interval '30 minutes'";
    await funded.node.pay([{
      script: (await scriptOf(chain.id, "regtest", funded.address)).toHex(),
      amount: COIN,
    }]);
    for (let blocks = 0; blocks < 30 && (await rowsOf(realm, tried)).length === 0; blocks++) {
      await funded.node.mine();
      await funded.follow();
    }
    equal((await rowsOf(realm, tried)).length, 1, "a deposit at the ramp lets it try again");

    for (let most = 0; most < 2; most++) {
      const path = `/v1/accounts/${funded.ramp}/consolidate`;
      const made = await realm.admin.send("POST", path, {});
      equal(made.status, 201, made.text);
      const open = "select from chain_orders where purpose = 'consolidation' and state <> 'done'";
      await funded.until(async () => (await rowsOf(realm, open)).length === 0);
    }
    equal((await funded.ended([second]))[0].status, "DONE");
    deepEqual(await funded.held(to), [170n * COIN, 170n * COIN]);
    await funded.agree();
  },
});
