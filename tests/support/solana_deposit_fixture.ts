/**
 * A realm with a Solana node, for tests of deposits and sweeps.
 * @module
 */
import { startSurfpool, type Surfpool } from "./nodes/surfpool.ts";
import { until } from "./eventually.ts";
import { openTestPoller, type TestPoller } from "./scan_steps.ts";
import { rowsOf, type TestRealm, testRealm } from "./realm.ts";

/** A realm, its node, and who follows it. */
export interface SolanaFixture extends AsyncDisposable {
  readonly node: Surfpool;
  readonly realm: TestRealm;
  readonly poller: TestPoller;
  /** Makes blocks final, and follows what came of it. */
  mine(blocks?: number): Promise<void>;
  /** Follows one block after another until something holds; jobs that wait are due at once. */
  mineUntil(holds: () => Promise<boolean>): Promise<void>;
  /** Makes a ramp that is ready. */
  ramp(asset?: string): Promise<{ id: string; address: string }>;
  /** Makes a deposit account on a ramp. */
  address(account: string): Promise<{ id: string; address: string }>;
  /** Reads an account. */
  // deno-lint-ignore no-explicit-any
  account(id: string): Promise<any>;
  /** Reads all deposits, oldest first, as the database has them. */
  deposits(): Promise<{ address: string; asset: string; amount: string; status: string }[]>;
}

/** How a fixture is made. */
export interface SolanaFixtureOptions {
  /** The main network, for tokens of the registry. */
  readonly main?: boolean;
  /** Gives the URLs of nodes that the service uses in place of the real one. */
  readonly through?: (url: string) => string[];
}

/** Makes a fixture. */
export async function openSolanaFixture(
  { main = false, through = (url) => [url] }: SolanaFixtureOptions = {},
): Promise<SolanaFixture> {
  const node = await startSurfpool(main ? "main" : "testnet");
  const prefix = main ? "SOLANA" : "SOLANA_TESTNET";
  const realm = await testRealm({ env: { [`${prefix}_RPC_URL`]: through(node.url).join(",") } });
  const poller = openTestPoller(realm);
  const { send } = realm.admin;
  async function mine(blocks = 1): Promise<void> {
    await node.mine(blocks);
    await poller.follow();
  }
  return {
    node,
    realm,
    poller,
    mine,
    mineUntil: (holds) =>
      until(async () => {
        if (await holds()) return true;
        await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
        await mine();
        return false;
      }),
    async ramp(asset = "SOL") {
      const made = await send("POST", "/v1/accounts", { type: "ramp", asset, testnet: !main });
      if (made.status !== 201) throw new Error(made.text);
      await realm.drain();
      const { id, ramp } = (await send("GET", `/v1/accounts/${made.body.id}`)).body;
      return { id, address: ramp.address };
    },
    async address(account) {
      const made = await send("POST", `/v1/account/${account}/address`, {});
      if (made.status !== 201) throw new Error(made.text);
      await realm.drain();
      return { id: made.body.id, address: made.body.address.address };
    },
    account: async (id) => (await send("GET", `/v1/accounts/${id}`)).body,
    deposits: () =>
      rowsOf(
        realm,
        "select address, asset, trim_scale(amount)::text as amount, status from deposits order by id",
      ),
    async [Symbol.asyncDispose]() {
      poller[Symbol.dispose]();
      await realm[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}
