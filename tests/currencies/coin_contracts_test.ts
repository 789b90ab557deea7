/** Contracts that move or mirror the chain's coin: their registration as tokens would count a ramp's balance twice. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { parseAddress } from "../../domain/chains/addresses.ts";
import { CHAINS } from "../../domain/assets.ts";
import { EVM_TABLES, isEvm } from "../../workers/chains/evm/networks.ts";
import { DETAIL_CALLS } from "../../workers/chains/evm/erc20.ts";
import { rich, startAnvil } from "../support/nodes/anvil.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { SOON } from "../support/own_token.ts";
import { openRampFixture, working } from "../support/ramp_fixture.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const REGISTER = "/v1/fungible/token/register";
const COIN = "0x471EcE3750Da237f93B8E339c536989b8978a438";
/** A token whose balances are those of the coin, and everything else 18. */
const MIRROR = "0x60003560e01c6370a0823114601957601260005260206000f35b6004353160005260206000f3";

Deno.test("the coin of a chain, or a contract that mirrors an owed balance, is registered as nobody's token", async () => {
  const anvil = await startAnvil(42220, "--celo");
  try {
    const env = { CELO_RPC_URL: anvil.url, CELO_CONFIRMATIONS: "1" };
    await using realm = await testRealm({ env });
    const user = await realm.user();
    const made = await user.send("POST", "/v1/accounts", { type: "ramp", asset: "CELO" });
    await realm.drain();
    const account = made.body.id;
    const { address } = (await user.send("GET", `/v1/accounts/${account}`)).body.ramp;
    await anvil.send({ to: address, value: 10n ** 18n });
    await anvil.mine();
    const body = {
      account,
      symbol: "MINE",
      supply: "0.000000000000000018",
      decimal_places: 18,
    };
    const coin = await user.send("POST", REGISTER, { ...body, contract_address: COIN });
    deepEqual([coin.status, coin.body.code], [422, "token.invalid"], coin.text);
    match(coin.body.detail, /the coin CELO itself/);
    const { address: mirror } = rich(9);
    await anvil.rpc("anvil_setCode", mirror, MIRROR);
    await user.send("POST", REGISTER, { ...body, contract_address: mirror }, SOON);
    await realm.drain();
    const [token] = await rowsOf<{ status: string; detail: string }>(
      realm,
      "select status, error ->> 'detail' as detail from fungible_tokens",
    );
    equal(token.status, "failed");
    match(token.detail, /balance equals that of another asset/);
    await rejects(
      realm.command((tx) =>
        tx`insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals, contract,
            external, owner, created_at)
          values (${crypto.randomUUID()}, ${account}, 'CELO', 'main', 'MY_CELO', 1, 18, ${COIN}, true,
            ${user.actor.user}, now())`
      ),
      /is the coin of its chain/,
    );
    for (const { id, coinContracts = [] } of CHAINS) {
      const { nativeToken, echoes } = isEvm(id)
        ? EVM_TABLES[id]
        : { nativeToken: null, echoes: [] };
      deepEqual(coinContracts, nativeToken === null ? echoes : [nativeToken, ...echoes], id);
      for (const contract of coinContracts) {
        equal((await parseAddress(id, "main", contract)).ok, false);
        const [{ known }] = await rowsOf<{ known: boolean }>(
          realm,
          "select is_coin($1, $2) as known",
          [id, contract],
        );
        equal(known, true);
      }
    }
  } finally {
    await anvil.stop();
  }
});

/** A token of 18 places: each balance is 18 units, and the supply is another one in each block. */
const GROWING = "0x60003560e01c6318160ddd14601957601260005260206000f35b4360401b60005260206000f3";

Deno.test("a second contract is found while the supply changes, and another ramp's token delays no registration", async () => {
  let node: FaultyNode | undefined;
  const through = (url: string) => (node = startFaultyNode(url)).url;
  await using fixture = await openRampFixture({ testnet: false, through });
  await using _ = node!;
  const { anvil } = fixture;
  const [ramp, stranger] = [await fixture.ramp(), await fixture.ramp()];
  const [growing, second, silent] = [rich(7).address, rich(8).address, rich(9).address];
  const relay = `0x363d3d373d3d3d363d73${growing.slice(2)}5afa503d6000803e3d6000f3`;
  for (const contract of [growing, silent]) await anvil.rpc("anvil_setCode", contract, GROWING);
  await anvil.rpc("anvil_setCode", second, relay);
  await fixture.mine(4);
  async function register(account: string, contract_address: string, symbol: string) {
    const amounts = { supply: "0.000000000000000018", decimal_places: 18 };
    const body = { account, contract_address, symbol, ...amounts };
    const answer = await working(fixture, fixture.realm.admin.send("POST", REGISTER, body));
    return [answer.status, answer.body.code ?? answer.body.status];
  }
  deepEqual(await register(stranger.id, silent, "SILENT"), [201, "registered"]);
  await anvil.rpc("anvil_setCode", silent, "0x60006000fd");
  deepEqual(await register(ramp.id, growing, "GROWING"), [201, "registered"]);
  node!.trick = async ({ method, params }) => {
    const [call] = params as { data?: string }[];
    if (method === "eth_call" && call.data === DETAIL_CALLS.totalSupply) await anvil.mine();
  };
  deepEqual(await register(ramp.id, second, "SECOND"), [422, "token.invalid"]);
});
