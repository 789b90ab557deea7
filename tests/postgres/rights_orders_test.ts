import { deepEqual, equal, rejects } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { booking } from "../support/booking.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { leaveBroken, rowsOf } from "../support/realm.ts";

const THIEF = "0x00000000000000000000000000000000000BaDBd";
const NOBODY = "00000000-0000-7000-8000-000000000000";

/** Runs statements with the rights of the role that serves, or of the workers', as the ledger posts. */
function injecting(funded: FundedRamp, who: "serving" | "worker") {
  const { realm } = funded;
  const pool = who === "worker" ? realm.pool : realm.database.realm(locationOf(realm.made.realm));
  return (text: string) =>
    serializable(pool, async (tx: Tx) => await tx.unsafe(text).simple(), { lockLedger: true });
}

/** A payment to the thief as an order's request has it. */
function requestOf(funded: FundedRamp, to = THIEF, amount = "1000000000000000000"): string {
  const payments = [{ to, amount }];
  return JSON.stringify({ kind: "pay", from: funded.address, contract: null, payments });
}

/** A statement that orders something. */
function ordering(
  funded: FundedRamp,
  of: { id?: string; purpose: string; reference?: string; request?: string; nonce?: number },
): string {
  const { id = crypto.randomUUID(), purpose, reference, request = requestOf(funded), nonce } = of;
  return `insert into chain_orders (id, chain, network, ramp, purpose, reference_id, sender, request, amount, nonce,
    budget, charged, created_at) values ('${id}', 'ETHEREUM', 'main', '${funded.ramp}', '${purpose}',
    ${reference === undefined ? "null" : `'${reference}'`}, '${funded.address}', '${request}', 0,
    ${nonce ?? "null"}, 1, 1, now())`;
}

const UNJUSTIFIED = /nothing justifies order/;
const WORKERS = /worker's to write|nothing shows|there is no such change/;

Deno.test("an injected order pays nobody: each is tied to its entity", async () => {
  await using funded = await openFundedRamp();
  const inject = injecting(funded, "serving");
  for (const purpose of ["sweep", "gas", "batch", "cpfp", "recovered", "fill"]) {
    await rejects(inject(ordering(funded, { purpose, nonce: 7 })), /worker's to write/, purpose);
  }
  for (const purpose of ["withdrawal", "consolidation", "deploy"]) {
    await rejects(inject(ordering(funded, { purpose, nonce: 7 })), UNJUSTIFIED, purpose);
    const of = { purpose, nonce: 7, reference: NOBODY };
    await rejects(inject(ordering(funded, of)), UNJUSTIFIED, purpose);
  }
  const worker = injecting(funded, "worker");
  const purposes = ["withdrawal", "sweep", "gas", "batch", "cpfp", "consolidation", "fill"];
  for (const purpose of purposes) {
    const text = ordering(funded, { purpose, nonce: 7 });
    await rejects(worker(text), /nothing justifies order|does not agree/, purpose);
  }
  const made = await funded.withdraw("0.1");
  equal(made.status, 201, made.text);
  const { id } = made.body;
  await rejects(inject(ordering(funded, { purpose: "withdrawal", reference: id })), UNJUSTIFIED);
  const other = `update chain_orders set request = '${requestOf(funded)}'`;
  await rejects(inject(other), /permission denied/);
  await rejects(worker(other), /cannot be for something else/);
  const point = `update withdrawals set destination = '${THIEF}', amount = 5, charged = 5 + fee`;
  await rejects(inject(point), /permission denied/);
  await rejects(worker(point), /stays what was asked for/);
  equal((await funded.finish(id)).status, "DONE");
  equal(BigInt(await funded.anvil.rpc<string>("eth_getBalance", THIEF, "latest")), 0n);
});

Deno.test("an injected statement burns no gas for nonces that nobody left, uses up no numbers, and hides no address", async () => {
  await using funded = await openFundedRamp();
  const inject = injecting(funded, "serving");
  const request = JSON.stringify({ kind: "noop", from: funded.address });
  const fill = (nonce: number) => {
    const id = crypto.randomUUID();
    return `${ordering(funded, { id, purpose: "fill", request, nonce })};
      insert into reserved_inputs (chain, network, input, order_id, created_at)
        values ('ETHEREUM', 'main', '${funded.address}:${nonce}', '${id}', now())`;
  };
  const made = await funded.withdraw("0.1");
  equal(made.status, 201, made.text);
  await funded.advance();
  for (const nonce of [0, 1, 100_000]) await rejects(inject(fill(nonce)), WORKERS, `${nonce}`);
  equal((await funded.finish(made.body.id)).status, "DONE");
  await rejects(inject(fill(0)), WORKERS);
  for (const index of ["next_index + 2", "2147483647"]) {
    const forged = `select set_config('purser.confirmed', 'none', true);
      update ramps set next_index = ${index}`;
    await rejects(inject(forged), WORKERS, index);
  }
  // A transaction notes first which schema it has compared with what the platform knows.
  const noted = "select set_config('purser.confirmed', 'none', true)";
  await rejects(inject("update ramps set next_index = next_index + 1"), WORKERS);
  await inject(`${noted}; update ramps set next_index = next_index + 1`);
  const ramp = (number: number) =>
    `insert into ramps (account, chain, network, number, created_at)
      values (gen_random_uuid(), 'ETHEREUM', 'main', ${number}, now())`;
  for (const number of [2, 2_147_483_647]) {
    await rejects(inject(`${noted}; ${ramp(number)}`), WORKERS);
  }
  await rejects(inject(ramp(1)), WORKERS);
  await inject(`${noted}; ${ramp(1)}`);
  const holding = (of: string) =>
    `insert into onchain_balances (chain, network, address, contract, height, nonce, seen_at)
      select chain, network, '${THIEF}', '', ${of}, now() from chain_cursors`;
  for (const values of ["height + 1, 0", "9e18::bigint, 0", "height, 5"]) {
    await rejects(inject(holding(values)), WORKERS, values);
  }
  await inject(holding("height, 0"));
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});

Deno.test("a withdrawal that is injected whole pays exactly its blocked value", async () => {
  await using funded = await openFundedRamp();
  const inject = injecting(funded, "serving");
  /** Opens a block on the ramp, a withdrawal with it, and an order that pays. */
  const forged = (of: Record<string, string | undefined>) => {
    const [id, order, block] = [1, 2, 3].map(() => crypto.randomUUID());
    const request = JSON.parse(requestOf(funded, THIEF, of.units));
    const text = JSON.stringify({ ...request, contract: of.contract ?? null });
    return `insert into blocks (id, account, amount, reason, reference_id, created_at)
        values ('${block}', '${funded.ramp}', ${of.blocked}, 'withdrawal', '${id}', now());
      insert into chain_orders (id, chain, network, ramp, purpose, reference_id, sender, request, contract, amount, budget,
        charged, created_at) values ('${order}', 'ETHEREUM', 'main', '${funded.ramp}', 'withdrawal', '${id}',
        '${funded.address}', '${text}', '${of.contract ?? ""}', ${of.units}, 1, 1, now());
      insert into withdrawals (id, account, ramp, chain, network, sender, destination, asset, contract, value,
        amount, fee, charged, paid_by, speed, order_id, block, created_at, sponsored, transaction)
        values ('${id}', '${
      of.account ?? funded.ramp
    }', '${funded.ramp}', 'ETHEREUM', 'main', '${funded.address}', '${THIEF}',
        'ETH', nullif('${of.contract ?? ""}', ''), ${of.charged}, ${of.charged}, 0,
        ${of.charged}, 'sender', 'medium', '${order}', '${block}', now(), true, ${
      of.moved ?? "null"
    })`;
  };
  const one = "1000000000000000000";
  // The ramp's own account holds nothing: what lies at its address covers what others are owed.
  await rejects(inject(forged({ blocked: "1", charged: "1", units: one })), /accounts_covered/);
  const move = {
    source: { account: funded.account },
    destination: { account: funded.ramp },
    value: "2",
  };
  equal((await funded.realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  await rejects(inject(forged({ blocked: "0.1", charged: "1", units: one })), /is not covered/);
  await rejects(inject(forged({ blocked: "0.1", charged: "0.1", units: one })), UNJUSTIFIED);
  // What would come back to an account is what it gave.
  for (const moved of [undefined, "(select max(id::text)::uuid from transactions)"]) {
    const whole = { blocked: "1", charged: "1", units: one, account: funded.account, moved };
    await rejects(inject(forged(whole)), { constraint_name: "withdrawals_funded" });
  }
  // The database does not know which contract is which asset's; who signs does.
  const token = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
  await leaveBroken(funded.realm);
  await inject(forged({ blocked: "1", charged: "1", units: one, contract: token }));
  await funded.advance().catch(() => {});
  await funded.advance().catch(() => {});
  const { realm } = funded;
  const stated = "select state, error from chain_orders";
  const [order] = await rowsOf<Record<string, string>>(realm, stated);
  equal(order.state, "new");
  equal(order.error?.includes("differs from its withdrawal"), true, order.error ?? "");
});

Deno.test("an injected statement ends no order and no withdrawal, and gives up nothing that is reserved", async () => {
  await using funded = await openFundedRamp({ depth: 3 });
  const inject = injecting(funded, "serving");
  const made = await funded.withdraw("0.1");
  equal(made.status, 201, made.text);
  await funded.advance();
  for (const state of ["mined", "done", "failed", "dropped", "new"]) {
    const end = `update chain_orders set state = '${state}', height = 1, confirmations = 99`;
    await rejects(inject(end), WORKERS, state);
  }
  const joining = `batch_order_id = '${NOBODY}'`;
  for (const change of ["height = 1", "hash = 'x'", "confirmations = 9", joining]) {
    await rejects(inject(`update chain_orders set ${change}`), WORKERS, change);
  }
  await rejects(inject("update chain_orders set state = 'canceled'"), /cannot become canceled/);
  for (const status of ["DONE", "FAILED", "CANCELED"]) {
    const end = `update withdrawals set status = '${status}'`;
    await rejects(inject(end), /ended by workers|may still be paid/, status);
  }
  await rejects(
    inject("update withdrawals set fee = fee + 1, charged = charged + 1"),
    /not covered|_value/,
  );
  await rejects(inject("delete from reserved_inputs"), /has not ended/);
  const input = `insert into reserved_inputs (chain, network, input, order_id, created_at)
    select chain, network, 'x:1', id, now() from chain_orders`;
  await rejects(inject(input), /has not ended/);
  const [{ hash }] = await rowsOf<{ hash: string }>(funded.realm, "select hash from chain_orders");
  const coin = (index: number, height: string) =>
    rowsOf(
      funded.realm,
      `insert into coins (chain, network, hash, index, address, ramp, amount, height, created_at)
        values ('ETHEREUM', 'main', '${hash}', ${index}, 'x', '${funded.ramp}', 1, ${height}, now())`,
    );
  await coin(0, "5");
  await rejects(inject("delete from coins"), /a coin that a block has shown stays/);
  await coin(1, "null");
  for (const who of ["serving", "worker"] as const) {
    const forget = injecting(funded, who)("delete from coins where height is null");
    await rejects(forget, /may still be/, who);
  }
  await rowsOf(funded.realm, "delete from coins where height is not null");
  equal((await funded.finish(made.body.id)).status, "DONE");
  await rejects(
    injecting(funded, "worker")("update withdrawals set status = 'PROCESSING'"),
    /has ended/,
  );
  await rejects(injecting(funded, "worker")("delete from withdrawals"), /permission denied/);
});

/** Makes a deposit account and an address for it, as an injected statement can. */
function handingOut(
  funded: FundedRamp,
  address: string,
  change: Record<string, string> = {},
): string {
  const account = crypto.randomUUID();
  const { admin } = funded.realm;
  const of = { asset: "'ETH'", decimals: "18", testnet: "false", network: "'main'", ...change };
  return `insert into accounts (id, type, asset, testnet, decimals, active, enabled, currency, currency_places,
      country, holder, owner, ramp, created_at) values ('${account}', 'deposit', ${of.asset}, ${of.testnet},
      ${of.decimals}, true, true, 'USD', 2, 'US', '${admin.identity}', '${admin.id}', '${funded.ramp}', now());
    insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset, owner, created_at)
      values (gen_random_uuid(), '${account}', '${funded.ramp}', 'ETHEREUM', ${of.network}, '${address}', 7,
        ${of.asset}, '${admin.id}', now())`;
}

Deno.test("an injected statement reads no signed bytes: nobody else sends a withdrawal that is then canceled", async () => {
  await using funded = await openFundedRamp();
  const inject = injecting(funded, "serving");
  const made = await funded.withdraw("0.1");
  equal(made.status, 201, made.text);
  const crash = (step: string) => equal(step === "stored", false, "the worker ends");
  await rejects(funded.advance(crash), /ends/);
  // A stored order waits for its worker as long as its runs are made void.
  await inject("update chain_orders set schedule_version = schedule_version + 1");
  for (
    const read of ["raw from", "* from", "c from", "to_jsonb(c) from", "max(length(raw)) from"]
  ) {
    await rejects(inject(`select ${read} order_attempts c`), /permission denied/, read);
  }
  const canceled = await funded.realm.admin.send("POST", `/v1/withdrawals/${made.body.id}/cancel`);
  equal(canceled.body.status, "CANCELED", canceled.text);
  equal((await funded.books()).account, "10");
});

Deno.test("an address that is injected credits nothing: its key is not ours", async () => {
  await using funded = await openFundedRamp({ env: { ETHEREUM_CONFIRMATIONS: "1" } });
  const { realm } = funded;
  const inject = injecting(funded, "serving");
  await rejects(inject(`update ramps set xpub = 'x'`), /permission denied/);
  const reserve = `insert into reserved_addresses (address, ramp, derivation_key, created_at)
    values ('${THIEF}', '${funded.ramp}', 7, now())`;
  await rejects(inject(reserve), /permission denied/);
  for (
    const change of [
      { decimals: "6" },
      { testnet: "true" },
      { asset: "'BTC'" },
      { network: "'testnet'" },
    ] as Record<string, string>[]
  ) {
    await rejects(
      inject(handingOut(funded, THIEF, change)),
      /does not fit its account/,
      JSON.stringify(change),
    );
  }
  await inject(handingOut(funded, THIEF));
  await funded.anvil.send({ to: THIEF, value: 10n ** 18n });
  await funded.anvil.mine();
  await funded.anvil.mine();
  const context = { ...funded.context, actor: { ...funded.context.actor, at: Date.now() } };
  await scanNetwork(context, { chain: "ETHEREUM", network: "main" });
  const [deposit] = await rowsOf<{ status: string; error: { code: string; detail: string } }>(
    realm,
    "select status, error from deposits",
  );
  deepEqual([deposit.status, deposit.error.code], ["PENDING", "address.invalid"]);
  const confirm =
    `update deposits set status = 'CONFIRMED', credited = amount, transaction = gen_random_uuid()`;
  await rejects(injecting(funded, "worker")(confirm), /no worker has derived/);
});

const BOOK = (type: string) => `ledger_book('${type}', true, null, null,`;

Deno.test("a statement injected into a worker makes no value without a deposit, and hides nothing", async () => {
  await using funded = await openFundedRamp();
  const { realm, ramp, account } = funded;
  const inject = injecting(funded, "worker");
  const worlds = "select id, system from accounts where type = 'system' and asset = 'ETH'";
  await inject(
    `insert into accounts (id, type, asset, decimals, active, enabled, currency, currency_places, country,
    system, created_at) values (gen_random_uuid(), 'system', 'ETH', 18, true, true, 'USD', 2, 'US', 'fees', now())`,
  );
  const systems = await rowsOf<{ id: string; system: string }>(realm, worlds);
  const of = (name: string) => systems.find(({ system }) => system === name)!.id;
  const [world, fees] = [of("world"), of("fees")];
  const before = await funded.books();
  const apply = `ledger_apply('deposit', true, true, true, null, null, null,`;
  await rejects(
    inject(booking(apply, { source: world, destination: account })),
    /permission denied/,
  );
  for (
    const type of [
      "transfer",
      "issue",
      "capture",
      "revert",
      "destroy",
      "return",
      "fee",
      "forward",
      "withdrawal",
    ]
  ) {
    const mint = booking(BOOK(type), { source: world, destination: ramp });
    await rejects(inject(mint), /nothing justifies/, type);
  }
  await rejects(
    inject(booking(BOOK("fee"), { source: fees, destination: account })),
    /nothing justifies/,
  );
  const deposit = booking(BOOK("deposit"), { source: world, destination: ramp });
  await rejects(inject(deposit), /no deposit stands behind/);
  for (
    const text of [
      "update accounts set total = total + 1",
      "update accounts set blocked = 0",
      "insert into transactions select * from transactions",
      "update entries set balance = 0",
      "delete from ledger_events",
      "insert into ledger_events (kind, subject) values ('accounts', 'x')",
      "insert into ledger_commits (transactions) values ('{}')",
      "update idempotency set transaction = gen_random_uuid()",
      `select note_events('accounts', array['${account}'], array['{}']::jsonb[])`,
    ]
  ) await rejects(inject(text), /permission denied/, text);
  await rejects(inject(`select note_seen('accounts', '${account}', '{}')`), /noted by their table/);
  deepEqual(await funded.books(), before);
  deepEqual(
    (await checkLedger(realm.pool)).mismatches.filter(({ subject }) => subject === ramp),
    [],
  );
});

Deno.test("a deposit that a worker is made to invent is missed on the chain, and stops withdrawals", async () => {
  await using funded = await openFundedRamp();
  const { realm, ramp, address } = funded;
  const inject = injecting(funded, "worker");
  /** Compares chain and ledger; tells whether all that is owed is there. */
  const compare = async () => {
    const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
    await rowsOf(realm, "update chain_cursors set height = $1, head = $1", [head]);
    await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at: Date.now() } });
    return (await rowsOf<{ solvent: boolean }>(realm, "select solvent from solvency"))[0].solvent;
  };
  const [{ id: world }] = await rowsOf<{ id: string }>(
    realm,
    "select id from accounts where system = 'world' and asset = 'ETH'",
  );
  equal(await compare(), true);
  const id = crypto.randomUUID();
  const see =
    `insert into deposits (id, chain, network, hash, index, account, address, asset, amount, block,
    block_hash, created_at) values ('${id}', 'ETHEREUM', 'main', 'ab', 0, '${ramp}', '${address}', 'ETH', 5, 1,
    'x', now())`;
  const seal = { chain: "ETHEREUM", network: "main", hash: "ab", index: 0 };
  const move = { source: world, destination: ramp };
  const book = booking(BOOK("deposit"), { ...move, seal });
  const confirming = (book: string) =>
    `with b as (${book}) update deposits set status = 'CONFIRMED', credited = 5,
    transaction = (select ledger_id(left(stamp, 16), 1, substr(stamp, 17)) from b) where id = '${id}'`;
  const confirm = confirming(book);
  for (const other of [undefined, { ...seal, hash: "cd" }, { ...seal, index: 1 }]) {
    const another = confirming(booking(BOOK("deposit"), { ...move, seal: other }));
    await rejects(inject(`${see}; ${another}`), /no deposit stands/, "of another payment");
  }
  const less = confirm.replace("credited = 5", "credited = 4");
  await rejects(inject(`${see}; ${less}`), /no deposit stands/);
  await rejects(inject(`${see.replace("5, 1,", "5, null,")}; ${confirm}`), /is in no block/);
  await rejects(inject(`${see.replace("5, 1,", "4, 1,")}; ${confirm}`), /deposits_brought/);
  await rejects(inject(`${see}; ${confirm}; ${book}`), /no deposit stands behind/, "once");
  await inject(`${see}; ${confirm}`);
  await rejects(inject("delete from deposits"), /was booked/);
  await rejects(inject("update deposits set status = 'PENDING', credited = null"), /was booked/);
  equal(await compare(), false);
  const asked = await funded.withdraw("0.1");
  deepEqual([asked.status, asked.body.code], [409, "asset.suspended"]);
});
