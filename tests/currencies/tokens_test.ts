import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { rich } from "../support/nodes/anvil.ts";
import { credit, type FundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { deployToken } from "../support/token_contracts.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import { TRANSFER_TOPIC, transferCall } from "../../workers/chains/evm/erc20.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("tokens of one ramp");

const DEPLOY = "/v1/fungible/token/deploy";
const REGISTER = "/v1/fungible/token/register";
const TOKEN = { name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6 };
/** Code of a token that says 6 to every call but balanceOf(), which reverts. */
const SILENT = "0x5f3560e01c6370a082311460165760065f5260205ff35b5f5ffd";

test("a token is deployed, registered when final, and withdrawn to others", async (funded) => {
  const answer = await deploy(funded);
  equal(answer.status, 201, answer.text);
  equal(answer.body.symbol, "GOLD_ETH");
  match(answer.body.transaction_hash, /^0x[0-9a-f]{64}$/);
  match(answer.body.fee, /^0\.0*[1-9]\d*$/);
  equal(answer.headers.get("preference-applied"), null);
  const { admin } = funded.realm;
  const own = { account: funded.ramp, symbol: "GOLD" };
  const early = await admin.send("POST", REGISTER, own);
  deepEqual([early.status, early.body.code], [409, "token.pending"]);
  await funded.anvil.mine(2);
  await funded.advance();
  const made = await admin.send("POST", REGISTER, own);
  deepEqual([made.status, made.body.status], [201, "registered"], made.text);
  const token = (await admin.send("GET", `/v1/fungible/token/${answer.body.id}`)).body;
  deepEqual([token.decimalPlaces, token.supply, token.external], [6, "1000", false]);
  deepEqual([token.contractAddress, token.transactionHash], [
    made.body.contract_address,
    answer.body.transaction_hash,
  ]);
  const currency = await admin.send("GET", `/v1/currencies/${made.body.virtual_currency}`);
  deepEqual([currency.body.name, currency.body.supply], ["GOLD_ETH", "1000"]);
  equal(await balanceOf(funded, token.contractAddress, funded.address), 1_000_000_000n);
  const more = await admin.send("POST", `/v1/currencies/${currency.body.id}/issue`, {
    amount: "1",
  });
  equal(more.body.code, "ramp.assets_insufficient");
  await paysOut(funded, currency.body.account, token.contractAddress);
});

/** The currency's account withdraws the token itself; the ramp bears the gas. */
async function paysOut(funded: FundedRamp, account: string, contract: string): Promise<void> {
  const { refreshFees } = await import("../../workers/sending/fee_quotes.ts");
  await refreshFees(funded.context);
  await rowsOf(
    funded.realm,
    `insert into onchain_balances (chain, network, address, contract, amount, height, seen_at)
      values ('ETHEREUM', 'main', $1, $2, 1000000000, 1, now())
      on conflict (chain, network, address, contract) do update set amount = excluded.amount`,
    [funded.address, contract],
  );
  const uncovered = await funded.withdraw("12.5", { source: { account } });
  deepEqual([uncovered.status, uncovered.body.code], [409, "ramp.gas_insufficient"]);
  await credit(funded.realm, funded.ramp, "1");
  await funded.anvil.send({ to: funded.address, value: 10n ** 18n });
  const paid = await funded.withdraw("12.5", { source: { account } });
  equal(paid.status, 201, paid.text);
  deepEqual([paid.body.fee.value, paid.body.fee.gas.asset], [0, "ETH"]);
  equal((await funded.finish(paid.body.id)).status, "DONE");
  equal(await balanceOf(funded, contract, OUTSIDE), 12_500_000n);
  equal((await funded.realm.balance(account)).total, "987.5");
  const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(funded.realm, "update chain_cursors set height = $1", [head]);
  await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at: Date.now() } });
  const { body } = await funded.realm.admin.send("GET", "/v1/solvency");
  deepEqual(
    body.map((row: Record<string, unknown>) => [row.asset, row.drift]),
    [["ETH", "0"], ["GOLD_ETH", "0"]],
  );
  equal(body[1].liabilities, "987.5");
  match(body[0].liabilities, /^10\.999/); // the gas is gone from the ramp's own account
}

test("a deployment that no worker takes up answers in time, with an empty hash", async (funded) => {
  const answer = await funded.realm.admin.send(
    "POST",
    DEPLOY,
    { ...TOKEN, account: funded.ramp },
    { prefer: "wait=1" },
  );
  deepEqual([answer.status, answer.body.transaction_hash], [201, ""]);
});

test("a token that cannot be deployed is refused", async (funded) => {
  const refused: [Record<string, unknown>, string][] = [
    [{ account: funded.account }, "token.unsupported_chain"],
    [{ account: "nobody" }, "account.not_found"],
    [{ supply: "0.0000001" }, "request.invalid"],
    [{ supply: "0" }, "request.invalid"],
    [{ decimal_places: 77 }, "request.invalid"],
    [{ symbol: "NO SPACE" }, "request.invalid"],
  ];
  for (const [change, code] of refused) {
    const body = { ...TOKEN, account: funded.ramp, ...change };
    equal((await funded.realm.admin.send("POST", DEPLOY, body)).body.code, code);
  }
  equal((await deploy(funded)).status, 201);
  equal((await deploy(funded)).body.code, "currency.taken");
  await rowsOf(funded.realm, "update onchain_balances set amount = 1000");
  equal((await deploy(funded, { symbol: "SILVER" })).body.code, "ramp.gas_insufficient");
});

test("a third party's token is registered only if its contract agrees, up to the ramp's balance", async (funded) => {
  const contract = await deployToken(funded.anvil, {
    symbol: "FOREIGN",
    decimals: 6,
    supply: 1_000_000_000n,
  });
  const give = async (units: bigint) => {
    const to = funded.address.slice(2).toLowerCase().padStart(64, "0");
    const data = `0xa9059cbb${to}${units.toString(16).padStart(64, "0")}`;
    await funded.anvil.pool({ to: contract, data });
    await funded.anvil.mine(2);
  };
  await give(99_999_999n);
  const silent = "0x00000000000000000000000000000000000051e7";
  await funded.anvil.rpc("anvil_setCode", silent, SILENT);
  const wanted = {
    account: funded.ramp,
    symbol: "FOREIGN",
    contract_address: contract,
    supply: "100",
    decimal_places: 6,
  };
  for (
    const [change, code] of [
      [{ decimal_places: 18 }, "token.invalid"],
      [{ supply: "1000000" }, "token.invalid"],
      [{ supply: "1000" }, "token.invalid"],
      [{ supply: "100" }, "token.invalid"],
      [{ symbol: "usdc" }, "currency.taken"],
      [{ contract_address: rich(3).address }, "token.invalid"],
      [{ contract_address: silent }, "token.invalid"],
      [{ contract_address: "0x12" }, "address.invalid"],
      [{ supply: undefined }, "request.invalid"],
    ] as const
  ) {
    const answer = await working(
      funded,
      funded.realm.admin.send("POST", REGISTER, {
        ...wanted,
        ...change,
      }),
    );
    equal(answer.body.code, code, answer.text);
  }
  const reader = await funded.realm.user({ scope: "realm" });
  equal((await reader.send("POST", REGISTER, wanted)).body.code, "permission.owner");
  await give(1n);
  const made = await working(funded, funded.realm.admin.send("POST", REGISTER, wanted));
  deepEqual([made.status, made.body.status], [201, "registered"], made.text);
  equal(made.body.contract_address, contract);
  notEqual(made.body.virtual_currency, null);
  const { body: token } = await funded.realm.admin.send(
    "GET",
    `/v1/fungible/token/${made.body.id}`,
  );
  deepEqual([token.symbol, token.external, token.transactionHash], ["FOREIGN_ETH", true, ""]);
  await floodsNobody(funded, contract);
  await besideSilent(funded, contract);
});

/** Another token of a ramp is not compared with one that tells no balances any more: it may be the same. */
async function besideSilent(funded: FundedRamp, silent: string): Promise<void> {
  const contract_address = await deployToken(funded.anvil, { symbol: "OTHER", decimals: 6 });
  await funded.anvil.pool({ to: contract_address, data: transferCall(funded.address, 5n) });
  await funded.anvil.mine(2);
  const wanted = { account: funded.ramp, symbol: "OTHER", supply: "0", decimal_places: 6 };
  const asked = funded.realm.admin.send("POST", REGISTER, { ...wanted, contract_address });
  const refused = await working(funded, asked);
  equal(refused.body.code, "token.invalid", refused.text);
  match(refused.body.detail, new RegExp(`${silent} tells no balance`));
}

/** The token's contract tells no balances any more, and many transfers: the operator is told once, whatever comes. */
async function floodsNobody(funded: FundedRamp, contract: string): Promise<void> {
  const { anvil, realm, address } = funded;
  const told: string[] = [];
  const services = {
    ...realm.services,
    log: (level: string, event: string, fields: { warning?: string }) => {
      if (level === "warn" || level === "error") told.push(`${event} ${fields.warning ?? ""}`);
    },
  };
  using poller = openTestPoller({ ...realm, services: services as never });
  await poller.follow();
  told.length = 0;
  const topic = TRANSFER_TOPIC.slice(2);
  // balanceOf() reverts; every other call logs a transfer from its caller.
  const logs = `6024355f52600435337f${topic}60205fa360015f5260205ff3`;
  await anvil.rpc("anvil_setCode", contract, `0x5f3560e01c6370a0823114604457${logs}5b5f5ffd`);
  for (let rounds = 1; rounds <= 3; rounds++) {
    await anvil.pool({ to: contract, data: transferCall(address, BigInt(rounds)) });
    await anvil.mine(2);
    await poller.follow();
  }
  const { body } = await realm.admin.send("GET", "/v1/deposits/all");
  const silent = body.filter((one: Answer["body"]) => one.error?.code === "token.invalid");
  deepEqual(silent.map(({ status }: Answer["body"]) => status), ["PENDING", "PENDING", "PENDING"]);
  deepEqual(told, ["token contracts give no balance "]);
  const [chain] = (await realm.admin.send("GET", "/v1/chains")).body;
  deepEqual([chain.healthy, chain.error], [true, null]);
}

async function deploy(funded: FundedRamp, change: Record<string, unknown> = {}): Promise<Answer> {
  const body = { ...TOKEN, account: funded.ramp, ...change };
  return await working(funded, funded.realm.admin.send("POST", DEPLOY, body));
}

/** Lets the workers work while an answer is waited for. */
async function working(funded: FundedRamp, answer: Promise<Answer>): Promise<Answer> {
  let waiting = true;
  const done = answer.finally(() => waiting = false);
  while (waiting) {
    await funded.realm.drain();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return await done;
}

async function balanceOf(funded: FundedRamp, contract: string, address: string): Promise<bigint> {
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
  return BigInt(await funded.anvil.rpc<string>("eth_call", { to: contract, data }, "latest"));
}
