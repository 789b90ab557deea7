/** Withdrawals on Solana that would lose value, through the API: most are refused at their request, the others before they are signed. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { fromUnits, toUnits } from "../../domain/money.ts";
import { SPEEDS } from "../../domain/speeds.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { makeMint, makeOther, usualAccount } from "../support/nodes/solana_tokens.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { openSolanaFixture, type SolanaFixture } from "../support/solana_deposit_fixture.ts";
import { outsider } from "../support/solana_fixture.ts";

const LEAST = 890_880n;
const PYUSD = "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo";

/** A virtual account of SOL with what was paid to it, all of which lies at the ramp's address. */
interface Scene {
  readonly fixture: SolanaFixture;
  readonly ramp: { readonly id: string; readonly address: string };
  readonly account: string;
  withdraw(address: string, value: string, fee?: Record<string, string>): Promise<Answer>;
  /** Follows a withdrawal to its end. */
  finish(id: string): Promise<Answer["body"]>;
}

async function openScene(fixture: SolanaFixture, lamports: bigint): Promise<Scene> {
  const { node, realm: { admin: { send }, drain }, mineUntil } = fixture;
  const ramp = await fixture.ramp();
  const made = await send("POST", "/v1/accounts", { type: "virtual", asset: "SOL", ramp: ramp.id });
  equal(made.status, 201, made.text);
  await drain();
  const account: string = made.body.id;
  const target = await fixture.address(account);
  await fixture.mine();
  await node.pay(target.address, lamports);
  await mineUntil(async () => (await fixture.account(account)).balance.total !== "0");
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
  return {
    ...{ fixture, ramp, account },
    withdraw: (address, value, fee = {}) =>
      send("POST", "/v1/withdrawals", {
        source: { account },
        destination: { address },
        value,
        fee,
      }),
    async finish(id) {
      const read = async () => (await send("GET", `/v1/withdrawals/${id}`)).body;
      await mineUntil(async () => (await read()).status !== "PROCESSING");
      return await read();
    },
  };
}

function refusedAs({ status, body, text }: Answer, code: string, why: RegExp): void {
  deepEqual([status, body.code], [code === "address.invalid" ? 422 : 409, code], text);
  match(body.detail, why);
}

async function addresses({ ramp, fixture, withdraw }: Scene): Promise<void> {
  const mint = await makeMint(fixture.node);
  const refusals: readonly (readonly [string, RegExp])[] = [
    [ramp.address, /the ramp's own address/],
    ["TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", /form of Tron's/],
    ["415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb", /Tron in hexadecimal/],
    ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", /Ethereum's form/],
    ["1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", /form of Bitcoin's/],
    [PYUSD, /the contract of PYUSD_SOL/],
    ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", /a program of the chain/],
    // The usual token account of a wallet lies off the curve.
    [usualAccount(outsider(), mint), /a token account or derived address/],
  ];
  for (const [address, why] of refusals) {
    refusedAs(await withdraw(address, "0.1"), "address.invalid", why);
  }
}

/** On the curve an account tells what it is only by its data, which no request asks a node for. */
async function accounts({ fixture, withdraw, finish }: Scene): Promise<void> {
  const mint = await makeMint(fixture.node);
  const receivers: readonly (readonly [string, RegExp])[] = [
    [mint.address, /the mint of a token, not a wallet/],
    [await makeOther(fixture.node, outsider(), mint), /a token account, not a wallet/],
  ];
  await fixture.mine();
  for (const [address, why] of receivers) {
    const made = await withdraw(address, "0.1");
    equal(made.status, 201, made.text);
    const ended = await finish(made.body.id);
    deepEqual([ended.status, ended.chain], ["FAILED", undefined], JSON.stringify(ended));
    match(ended.error.detail, why);
  }
}

async function poorReceiver({ withdraw, finish, fixture }: Scene): Promise<void> {
  const below = fromUnits(LEAST - 1n, 9);
  refusedAs(await withdraw(outsider(), below), "withdrawal.below_fee", /dust limit/);
  // What arrives counts, not what is asked for.
  const least = fromUnits(LEAST, 9);
  const paid = await withdraw(outsider(), least, { paid_by: "receiver" });
  refusedAs(paid, "withdrawal.below_fee", /dust limit/);
  const to = outsider();
  const made = await withdraw(to, least);
  equal(made.status, 201, made.text);
  equal((await finish(made.body.id)).status, "DONE");
  equal((await fixture.node.raw<{ value: number }>("getBalance", to)).value, Number(LEAST));
}

/** The dry run asks for many times the units that are paid for: what it would cost is no cost of the payment. */
async function speeds({ withdraw, finish }: Scene): Promise<void> {
  for (const speed of SPEEDS) {
    const made = await withdraw(outsider(), "0.1", { speed });
    equal(made.status, 201, made.text);
    const ended = await finish(made.body.id);
    equal(ended.status, "DONE", `${speed}: ${JSON.stringify(ended)}`);
  }
}

/** Lamports at the ramp, less the fee of a payment. */
async function spendable({ fixture, ramp }: Scene): Promise<bigint> {
  const { value } = await fixture.node.raw<{ value: number }>("getBalance", ramp.address);
  const path = `/v1/withdrawals/estimate?account=${ramp.id}&address=${outsider()}&amount=1`;
  const { body } = await fixture.realm.admin.send("GET", path);
  return BigInt(value) - toUnits(body, 9);
}

/** An amount that would leave too little, or nothing, at the ramp would wait for ever. */
async function poorRamp(scene: Scene): Promise<void> {
  const all = await spendable(scene);
  for (const left of [0n, 1n, LEAST - 1n]) {
    const answer = await scene.withdraw(outsider(), fromUnits(all - left, 9));
    refusedAs(answer, "ramp.assets_insufficient", /keep less than the chain's minimum/);
  }
}

async function leastLeft(scene: Scene): Promise<void> {
  const { fixture: { node }, ramp, withdraw, finish } = scene;
  const made = await withdraw(outsider(), fromUnits(await spendable(scene) - LEAST, 9));
  equal(made.status, 201, made.text);
  const ended = await finish(made.body.id);
  equal(ended.status, "DONE", JSON.stringify(ended));
  const { value } = await node.raw<{ value: number }>("getBalance", ramp.address);
  ok(BigInt(value) >= LEAST && BigInt(value) < LEAST + 1_000n, `${value}`);
}

const SCENES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "a ramp below the rent-exempt minimum, or at nothing, is refused": poorRamp,
  "addresses of other chains, programs, mints of the registry and derived addresses are refused":
    addresses,
  "a mint and a token account on the curve end as FAILED, and nothing is signed": accounts,
  "a new receiver below the rent-exempt minimum is refused, one at it is paid": poorReceiver,
  "each speed is paid, whatever its dry run would have cost": speeds,
  "a ramp that keeps exactly the minimum pays": leastLeft,
};

Deno.test("a withdrawal of SOL that would be lost, or leave too little, is refused", async (t) => {
  await using fixture = await openSolanaFixture({ main: true });
  const scene = await openScene(fixture, 2_000_000_000n);
  for (const [name, run] of Object.entries(SCENES)) await t.step(name, () => run(scene));
  const { realm } = fixture;
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  const orders = await rowsOf<{ state: string; signed: boolean }>(
    realm,
    `select state, exists (select from order_attempts a where a.order_id = o.id) as signed
      from chain_orders o where purpose = 'withdrawal' order by id`,
  );
  deepEqual(orders.map(({ state, signed }) => `${state} ${signed}`), [
    ...["failed false", "failed false"],
    ...Array.from({ length: 5 }, () => "done true"),
  ]);
});
