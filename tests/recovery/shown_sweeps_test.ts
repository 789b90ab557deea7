/** Sweeps whose transactions are shown, after a reorganisation beyond the depth of their end. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { mineUntil, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { openSwept, rawOf, SENT, untilSent } from "../support/sent_sweeps.ts";

const ETHER = 10n ** 18n;

Deno.test("a deposit on Ethereum shows that transaction of its sweep which is mined, where a reorganisation beyond the final block mines another than the sweep ended with", async () => {
  const made: FaultyNode[] = [];
  const through = (url: string) => {
    made.push(startFaultyNode(url));
    return made[0].url;
  };
  const { fixture, address } = await openSwept({ through });
  await using _fixture = fixture;
  await using faulty = made[0];
  const { realm, anvil } = fixture;
  const [{ hash: first }] = await rowsOf<{ hash: string }>(realm, SENT);
  await rowsOf(realm, "update chain_orders set replace = true, speed = 'fast'");
  const second = await untilSent(realm, [first]);
  notEqual(second, first);
  const fork = await anvil.rpc<string>("evm_snapshot");
  const done = "select from sweeps where state = 'done'";
  await mineUntil(fixture, async () => (await rowsOf(realm, done)).length > 0);
  const shown = async () => {
    const { body } = await realm.admin.send("GET", "/v1/deposits/all");
    return body.map(({ forward }: { forward: { hash: string; status: string } }) => [
      forward.hash,
      forward.status,
    ]);
  };
  deepEqual(await shown(), [[second, "DONE"]]);
  await anvil.rpc("evm_revert", fork);
  await anvil.rpc("anvil_dropAllTransactions");
  const again = await anvil.rpc<string>("evm_snapshot");
  await anvil.rpc("eth_sendRawTransaction", await rawOf(realm, first));
  await anvil.mine(70);
  for (let pass = 0; pass < 3; pass++) await fixture.poller.advance();
  deepEqual(await shown(), [[first, "DONE"]]);
  await rowsOf(realm, "update displaced_orders set created_at = now() - interval '25 hours'");
  await anvil.rpc("evm_revert", again);
  await endsWithItsDeposit(fixture, { address, hash: second, faulty });
});

/** The chain loses the deposit as well: nothing can mine its sweep, and what comes to its address is swept all the same. */
async function endsWithItsDeposit(
  { realm, anvil, poller, ...fixture }: RampFixture,
  { address, hash, faulty }: { address: string; hash: string; faulty: FaultyNode },
): Promise<void> {
  const pass = async () => {
    await rowsOf(realm, "update displaced_orders set asked_at = null");
    for (let round = 0; round < 3; round++) await poller.advance();
    const reason = "select quarantined ->> 'detail' as reason from ramps";
    return (await rowsOf<{ reason: string | null }>(realm, reason))[0].reason;
  };
  await anvil.rpc("anvil_setBalance", address, "0x0");
  await anvil.mine(140);
  equal(await pass(), null, "it was lost today, whenever it was before, and may come back");
  await rowsOf(realm, "update displaced_orders set created_at = now() - interval '25 hours'");
  let [asked, sent] = [false, 0];
  faulty.trick = ({ method, params }) => {
    if (method === "eth_getTransactionReceipt" && params[0] === hash) asked = true;
    if (method === "eth_getBalance" && asked) throw new NodeError(-32000, "busy");
    if (method !== "eth_sendRawTransaction") return undefined;
    [asked, sent] = [false, sent + 1];
  };
  equal(await pass(), null, "nobody tells what its address holds");
  ok(sent > 0, "it is sent again meanwhile");
  faulty.trick = () => undefined;
  const lost = new RegExp(`^the chain has lost ${hash}: what order .* \\(sweep\\) has booked`);
  match(await pass() ?? "nothing is told", lost);
  await rowsOf(realm, "update ramps set quarantined = null");
  const half = ETHER / 2n;
  await anvil.pool({ to: address, value: half });
  const open = { realm, anvil, poller, ...fixture };
  await mineUntil(open, async () => {
    await rowsOf(realm, "update chain_orders set created_at = now() - interval '2 minutes'");
    await rowsOf(realm, "update jobs set run_at = now() where state = 'ready'");
    const held = await anvil.rpc<string>("eth_getBalance", address, "latest");
    return BigInt(held) < half / 10n;
  });
}
