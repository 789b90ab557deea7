import { deepEqual, equal, ok } from "node:assert/strict";
import { subtract } from "../../domain/money.ts";
import { openDesk, OUTSIDE } from "../support/desk.ts";

Deno.test("a withdrawal is paid once, confirmed to its depth, and booked to the last wei", async () => {
  await using desk = await openDesk({ depth: 3 });
  const made = await desk.withdraw("1.5");
  equal(made.status, 201, made.text);
  const { id, fee } = made.body;
  equal(made.body.status, "PROCESSING");
  equal(made.body.amount, 1.5);
  const charged = `${fee.value}`;
  equal(
    (await desk.books()).account,
    subtract("8.5", /"fee":\{[^}]*"value":([\d.]+)/.exec(made.text)![1]),
  );
  await desk.look();
  const sent = await desk.read(id);
  ok(sent.chain.hash.startsWith("0x"), charged);
  equal(sent.chain.nonce, 0);
  await desk.anvil.mine();
  await desk.look();
  equal((await desk.read(id)).status, "PROCESSING");
  equal((await desk.read(id)).chain.confirmations, 1);
  const done = await desk.finish(id);
  equal(done.status, "DONE");
  deepEqual(done.history.map((entry: { event: string }) => entry.event), [
    "created",
    "sent",
    "mined",
    "done",
  ]);
  equal(
    BigInt(await desk.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")),
    15n * 10n ** 17n,
  );
  const books = await desk.books();
  equal(books.ramp, "0");
  const left = BigInt(await desk.anvil.rpc<string>("eth_getBalance", desk.address, "latest"));
  // What the ledger holds is what the address holds.
  const owed = subtract(`-${books.world.slice(1)}`, "0");
  equal(`${left}`, owed.replace("-", "").replace(".", "").replace(/^0+/, "").padEnd(19, "0"));
});
