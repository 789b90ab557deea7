/** Sweeps on Ethereum that are sent, and that no block has yet. @module */
import { mineUntil, openRampFixture, type RampFixture } from "./ramp_fixture.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

const ETHER = 10n ** 18n;
/** Reads the sweeps that were sent. */
export const SENT =
  "select id as order, hash from chain_orders where purpose = 'sweep' and state = 'sent'";

/** A ramp of ETH, a virtual account, and a deposit at it whose sweep is in the node's pool. */
export async function openSwept(): Promise<
  { fixture: RampFixture; virtual: string; address: string; to: string }
> {
  const fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const body = { type: "virtual", asset: "ETH", ramp: ramp.id };
  const virtual = (await realm.admin.send("POST", "/v1/accounts", body)).body.id as string;
  const { address } = await fixture.address(virtual);
  await anvil.pool({ to: address, value: ETHER });
  await mineUntil(fixture, async () => (await rowsOf(realm, SENT)).length > 0);
  return { fixture, virtual, address, to: ramp.address };
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
