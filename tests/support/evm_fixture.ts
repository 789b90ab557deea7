/**
 * A funded ramp that withdraws: a realm with a funded ramp on a real EVM node, and workers that a test moves
 * step by step.
 * @module
 */
import type { AccountRow } from "../../db/accounts/accounts.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { counterparty } from "../../domain/ledger/posting.ts";
import { subtract } from "../../domain/money.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import type { OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { type Anvil, startAnvil } from "./nodes/anvil.ts";
import { bookAsOwner } from "./booking.ts";
import { listen } from "./listening.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "./realm.ts";

/** Options of a funded ramp. */
export interface FundedRampOptions {
  /** Code of the asset; ETH unless given. */
  asset?: string;
  /** The chain, and what its node is started with; Ethereum unless given. */
  chain?: { id: string; number: number; flags?: readonly string[] };
  /** Address of the node, if it is not to be the real one itself. */
  front?: (url: string) => string;
  /** The balance of the ramp's address, in wei. */
  coins?: bigint;
  /** The balance of the virtual account, in whole units. */
  total?: string;
  /** Depth at which a payment is final. */
  depth?: number;
  /** To whom it withdraws unless told. */
  outside?: string;
  /** Further settings. */
  env?: Record<string, string>;
  /** The test file; the one that calls unless given. */
  file?: string;
}

/** A realm with a funded ramp. */
export interface FundedRamp extends AsyncDisposable {
  realm: TestRealm;
  anvil: Anvil;
  context: WorkerContext;
  /** Id of the ramp account, and of a virtual account on it. */
  ramp: string;
  account: string;
  /** The ramp's address. */
  address: string;
  readonly asset: string;
  readonly chain: string;
  /** To whom it withdraws unless told. */
  readonly outside: string;
  /** What fees and the world had when it was opened. */
  readonly before: Pick<Books, "fees" | "world">;
  /** Asks for a withdrawal from the virtual account. */
  withdraw(value: string, more?: Record<string, unknown>): Promise<Answer>;
  /** Reads a withdrawal. */
  read(id: string): Promise<Answer["body"]>;
  /** Takes the steps of orders that are planned, now; tells of each checkpoint that they pass. */
  advance(onCheckpoint?: OnCheckpoint): Promise<void>;
  /** Polls and mines until a withdrawal has ended. */
  finish(id: string): Promise<Answer["body"]>;
  /** Notes what the ramp's address holds, as a scanner would. */
  refreshBalances(): Promise<void>;
  /** The balances of the ledger. */
  books(): Promise<Books>;
}

/** Balances of a ramp, its virtual account, and what has come to the fees and the world since it was opened. */
export type Books = Record<"ramp" | "account" | "fees" | "world", string>;

/** Somebody outside. */
export const OUTSIDE = "0x00000000000000000000000000000000DeaDBeef";

/** Opens a funded ramp on an Ethereum of its own. */
export async function openFundedRamp(options: FundedRampOptions = {}): Promise<FundedRamp> {
  const { id: chain, number, flags = [] } = options.chain ?? { id: "ETHEREUM", number: 1 };
  const anvil = await startAnvil(number, ...flags);
  await anvil.mine();
  const asset = options.asset ?? "ETH";
  const url = options.front?.(anvil.url) ?? anvil.url;
  const env = {
    [`${chain}_RPC_URL`]: url,
    [`${chain}_CONFIRMATIONS`]: `${options.depth ?? 2}`,
    ...options.env,
  };
  const realm = await testRealm({ env }, options.file);
  await listen(realm);
  const end = async () => {
    await realm[Symbol.asyncDispose]();
    await anvil.stop();
  };
  return await prepare({ realm, anvil, end, chain, asset, options });
}

/** Opens another funded ramp on the same realm and node, whose workers know nothing of the node yet. */
export async function anotherFundedRamp(
  { realm, anvil }: Pick<FundedRamp, "realm" | "anvil">,
  options: Pick<FundedRampOptions, "coins" | "total" | "outside"> = {},
): Promise<FundedRamp> {
  const more = { chain: "ETHEREUM", asset: "ETH", end: () => Promise.resolve(), options };
  return await prepare({ realm, anvil, ...more });
}

/** The same ramp, whose workers know nothing of the node yet. */
export async function sameFundedRamp(
  funded: Omit<FundedRamp, "realm" | "context">,
  realm: TestRealm,
): Promise<FundedRamp> {
  const context = await workerContextOf(realm);
  return assemble({ ...funded, realm, context, end: () => Promise.resolve() });
}

/** What a funded ramp is opened on. */
type Ground = Pick<FundedRamp, "realm" | "anvil"> & {
  chain: string;
  asset: string;
  options: FundedRampOptions;
  /** Ends what the ramp was opened on. */
  end: () => Promise<void>;
};

async function prepare({ realm, anvil, end, chain, asset, options }: Ground): Promise<FundedRamp> {
  const context = await workerContextOf(realm);
  const made = await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset });
  if (made.status !== 201) throw new Error(made.text);
  await realm.drain();
  const ramp: string = made.body.id;
  const [{ address }] = await rowsOf<{ address: string }>(
    realm,
    "select address from addresses where account = $1",
    [ramp],
  );
  const virtual = await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset, ramp });
  await realm.drain();
  const parts = {
    ...{ realm, anvil, context, ramp, account: virtual.body.id, address, asset, chain, end },
    outside: options.outside ?? OUTSIDE,
  };
  const before = await assemble({ ...parts, before: { fees: "0", world: "0" } }).books();
  const funded = assemble({ ...parts, before });
  await anvil.send({ to: address, value: options.coins ?? 10n ** 19n });
  await funded.refreshBalances();
  await refreshFees(context);
  await credit(realm, funded.account, options.total ?? "10");
  return funded;
}

function assemble(
  parts:
    & Pick<FundedRamp, "realm" | "anvil" | "context" | "ramp" | "account" | "address">
    & Pick<FundedRamp, "asset" | "chain" | "outside" | "before">
    & Pick<Ground, "end">,
): FundedRamp {
  const { realm, anvil, context, ramp, account, address, asset, chain, end } = parts;
  const { outside, before } = parts;
  async function read(id: string): Promise<Answer["body"]> {
    return (await realm.admin.send("GET", `/v1/withdrawals/${id}`)).body;
  }
  async function advance(onCheckpoint: OnCheckpoint = () => {}): Promise<void> {
    const orders = await rowsOf<{ order: string; version: number }>(
      realm,
      `select id as order, schedule_version as version from chain_orders
        where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
    );
    for (const seen of orders) await advanceOrder(fresh(context), seen, onCheckpoint);
  }
  return {
    ...parts,
    withdraw: (value, more = {}) =>
      realm.admin.send("POST", "/v1/withdrawals", {
        source: { account },
        destination: { address: outside },
        value,
        ...more,
      }),
    read,
    advance,
    async finish(id) {
      for (let round = 0; round < 20; round++) {
        await advance();
        const row = await read(id);
        if (row.status !== "PROCESSING") return row;
        await anvil.mine();
      }
      throw new Error(`withdrawal ${id} does not end`);
    },
    async refreshBalances() {
      const units = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
      await serializable(realm.pool, (tx) =>
        tx`
          insert into onchain_balances (chain, network, address, amount, height, seen_at)
          values (${chain}, 'main', ${address}, ${`${units}`}, 1, now())
          on conflict (chain, network, address, contract) do update
            set amount = excluded.amount, seen_at = excluded.seen_at`);
    },
    async books() {
      const rows = await rowsOf<{ id: string; system: string | null; total: string }>(
        realm,
        "select id, system, trim_scale(total)::text as total from accounts where asset = $1",
        [asset],
      );
      const of = (test: (row: { id: string; system: string | null }) => boolean) =>
        rows.find(test)?.total ?? "0";
      return {
        ramp: of((row) => row.id === ramp),
        account: of((row) => row.id === account),
        fees: subtract(of((row) => row.system === "fees"), before.fees),
        world: subtract(of((row) => row.system === "world"), before.world),
      };
    },
    async [Symbol.asyncDispose]() {
      context.chains.close();
      await end();
    },
  };
}

/** A context outside of the runner, for a worker whose end a test decides. */
export async function workerContextOf(realm: TestRealm): Promise<WorkerContext> {
  const { services } = realm;
  const realmContext = (await services.realms.find(realm.id))!;
  return {
    realm: realmContext.row(),
    pool: realm.database.working(locationOf(realmContext.row())),
    actor: { ...realm.admin.actor, user: realm.id, kind: "worker" },
    log: services.log,
    chains: openChains(services.config.chains),
    signer: openSigner(services.config.masterKey!, Date.now),
    messaging: null,
    people: services.people,
    signal: new AbortController().signal,
    step: (work, ...how) => serializable(realm.pool, work, ...how),
  };
}

/** The same context, now. */
function fresh(context: WorkerContext): WorkerContext {
  const at = Date.now();
  return { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
}

/** Books a deposit, as if one had been seen. */
export async function credit(realm: TestRealm, account: string, amount: string): Promise<void> {
  const actor = { ...realm.admin.actor, at: Date.now() };
  const row = (await reading(realm.pool, (db) => selectAccount(db, account))) as AccountRow;
  const { decimals, testnet } = row;
  const source = await serializable(
    realm.pool,
    (tx) => counterparty(tx, actor, "world", { code: row.asset, decimals, testnet }),
    { lockLedger: true },
  );
  // No deposit stands behind it, so it is none.
  const refusals = await bookAsOwner(realm, "forward", [{ source, destination: account, amount }]);
  if (refusals !== null) throw new Error(`not credited: ${refusals}`);
}
