/** Sweeps on Ethereum that are sent, and that no block has yet. @module */
import { sharingFixture } from "./kept_ramps.ts";
import {
  mineUntil,
  openRampFixture,
  type RampFixture,
  type RampFixtureOptions,
} from "./ramp_fixture.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

const ETHER = 10n ** 18n;
/** Reads the sweeps that were sent. */
export const SENT =
  "select id as order, hash from chain_orders where purpose = 'sweep' and state = 'sent'";

/** A ramp of ETH, a virtual account, and an address for deposits to it. */
interface Accounts {
  readonly virtual: string;
  readonly address: string;
  /** The ramp's address. */
  readonly to: string;
}

/** They, and a deposit whose sweep is in the node's pool. */
export interface Swept extends Accounts {
  readonly fixture: RampFixture;
}

/** Opens it once for several tests, each of which begins with it. */
export function sharingSwept(
  title: string,
): (title: string, work: (swept: Swept) => Promise<void>) => void {
  const test = sharingFixture(title, { testnet: false, prepare: makeAccounts });
  return (name, work) =>
    test(name, async ({ made, ...fixture }) => {
      await sendSweep(fixture, made);
      await work({ fixture, ...made });
    });
}

/** Opens it for one test. */
export async function openSwept(options: Pick<RampFixtureOptions, "through"> = {}): Promise<Swept> {
  const fixture = await openRampFixture({ ...options, testnet: false });
  const made = await makeAccounts(fixture);
  await sendSweep(fixture, made);
  return { fixture, ...made };
}

async function makeAccounts(fixture: RampFixture): Promise<Accounts> {
  const ramp = await fixture.ramp();
  const body = { type: "virtual", asset: "ETH", ramp: ramp.id };
  const virtual = (await fixture.realm.admin.send("POST", "/v1/accounts", body)).body.id as string;
  const { address } = await fixture.address(virtual);
  return { virtual, address, to: ramp.address };
}

async function sendSweep(
  fixture: RampFixture,
  { address }: Accounts,
): Promise<void> {
  await fixture.anvil.pool({ to: address, value: ETHER });
  await mineUntil(
    fixture,
    async () => (await rowsOf(fixture.realm, SENT)).length > 0,
  );
}

/** Runs the jobs that wait, until an attempt of the sweep is sent. */
export async function untilSent(realm: TestRealm, besides: readonly string[]): Promise<string> {
  for (let round = 0; round < 10; round++) {
    await rowsOf(realm, "update jobs set run_at = now() where state = 'ready'");
    await realm.drain();
    const sent = await rowsOf<{ hash: string }>(
      realm,
      "select hash from order_attempts where outcome is not null order by attempt desc",
    );
    const news = sent.find(({ hash }) => !besides.includes(hash));
    if (news !== undefined) return news.hash;
  }
  throw new Error("nothing is sent");
}

/** Reads the bytes of a transaction. */
export async function rawOf(realm: TestRealm, hash: string): Promise<string> {
  const [{ raw }] = await rowsOf<{ raw: string }>(
    realm,
    `select raw from order_attempts where hash = '${hash}'`,
  );
  return raw;
}
