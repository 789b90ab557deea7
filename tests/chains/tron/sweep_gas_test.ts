/** Gas of sweeps of TRC-20, where a stranger gives a deposit address TRX, bandwidth or energy. */
import { deepEqual } from "node:assert/strict";
import { TRC20, TRX, word } from "../../support/nodes/tron/client.ts";
import { toHex } from "../../support/nodes/tron/wallet.ts";
import { driftsOf, mineUntil } from "../../support/ramp_fixture.ts";
import { rowsOf } from "../../support/realm.ts";
import { installTether, openTronRamp, type TronRamp } from "../../support/tron_ramp.ts";

interface Scene {
  readonly fixture: TronRamp;
  readonly ramp: string;
  readonly address: string;
  /** Pays USDT to the deposit address, and waits until the ramp has so much. */
  sweep(amount: bigint, total: string): Promise<void>;
}

async function inScene(play: (scene: Scene) => Promise<void>): Promise<void> {
  await using fixture = await openTronRamp({ lag: 1 });
  const contract = await installTether(fixture.node);
  const ramp = await fixture.ramp("USDT_TRON");
  const { address } = await fixture.address(ramp.id);
  await fixture.node.fund(ramp.address, 500n * TRX);
  async function sweep(amount: bigint, total: string): Promise<void> {
    const data = TRC20.encodeFunctionData("transfer", [word(toHex(address)), amount]);
    await fixture.node.trigger(contract, data);
    await mineUntil(
      fixture,
      async () => (await fixture.account(ramp.id)).balance.total === total,
    );
  }
  await play({ fixture, ramp: ramp.id, address, sweep });
  await fixture.mine(2);
  deepEqual(await rowsOf(fixture.realm, "select error from sweeps where state = 'failed'"), []);
  deepEqual(await driftsOf(fixture), [["USDT_TRON", "0"]]);
}

Deno.test("energy that a stranger delegates to a deposit address on Tron does not keep its tokens from being swept", async () => {
  await inScene(async ({ fixture, address, sweep }) => {
    await fixture.node.stake(address, { energy: 10_000_000n });
    await sweep(25n * TRX, "25");
  });
});

Deno.test("TRX and bandwidth of a stranger that just cover a sweep on Tron do not keep tokens from being swept", async () => {
  await inScene(async ({ fixture, address, sweep }) => {
    const { node, realm } = fixture;
    await node.stake(address, { bandwidth: 10_000n });
    await sweep(20n * TRX, "20");
    // The next one takes less energy, as its receiver has tokens already; those after it as much.
    await sweep(5n * TRX, "25");
    const orders = "select fee::text from chain_orders where purpose = 'sweep' order by id desc";
    const [{ fee }] = await rowsOf<{ fee: string }>(realm, orders);
    const { balance } = node.ledger.pending.accounts.get(toHex(address))!;
    await node.fund(address, BigInt(fee) - balance);
    await sweep(5n * TRX, "30");
  });
});
