import { deepEqual, equal } from "node:assert/strict";
import { readRefusal } from "../../../workers/chains/bitcoin/broadcast.ts";
import type { Signed } from "../../../workers/chains/outgoing.ts";
import { pays, signed } from "../conformance.ts";
import { hasLitecoind } from "../../support/nodes/litecoind.ts";
import { startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { openLitecoindFixture } from "./fixture.ts";

const ignore = !hasLitecoind();

Deno.test("a refusal is a verdict only where no miner could think otherwise", () => {
  const cases: [string, string, string | null][] = [
    ["txn-already-in-mempool", "known", null],
    ["txn-already-known", "known", null],
    ["transaction already in block chain", "known", null],
    ["Transaction outputs already in utxo set", "known", null],
    ["bad-txns-inputs-missingorspent", "unknown", "consumed"],
    ["Missing inputs", "unknown", "consumed"],
    ["txn-mempool-conflict", "unknown", "consumed"],
    ["insufficient fee, rejecting replacement ab; new feerate 1 <= old", "unknown", "underpriced"],
    ["min relay fee not met, 100 < 141", "unknown", "underpriced"],
    ["mempool min fee not met, 100 < 141", "unknown", "underpriced"],
    ["mempool full", "unknown", "underpriced"],
    ["too-long-mempool-chain, too many descendants", "unknown", "early"],
    ["non-BIP68-final", "unknown", "early"],
    ["bad-txns-premature-spend-of-coinbase, tried to spend at 5", "unknown", "early"],
    ["dust", "unknown", "other"],
    ["tx-size", "unknown", "other"],
    ["max-fee-exceeded", "unknown", "other"],
    ["non-mandatory-script-verify-flag (Signature must be zero)", "unknown", "other"],
    ["something that nobody has read before", "unknown", "other"],
    ["mandatory-script-verify-flag-failed (Signature is invalid)", "unknown", "malformed"],
    ["16: mandatory-script-verify-flag-failed (Signature is invalid)", "unknown", "malformed"],
    ["64: dust", "unknown", "other"],
    ["66: min relay fee not met", "unknown", "underpriced"],
    ["258: txn-mempool-conflict", "unknown", "consumed"],
    ["bad-txns-in-belowout, value in (1) < value out (2)", "unknown", "malformed"],
    ["TX decode failed. Make sure the tx has at least one input.", "unknown", "malformed"],
  ];
  for (const [message, outcome, obstacle] of cases) {
    deepEqual(readRefusal(message), { outcome, obstacle, detail: message }, message);
  }
});

Deno.test({
  name: "the answers of a real node to each kind of transaction are understood",
  ignore,
  fn: async () => {
    await using fixture = await openLitecoindFixture("LITECOIN");
    const { chain, payer, party, amount, mine } = fixture;
    const [one, two] = [await party(), await party()];
    const said = async (bytes: Signed) => {
      const { outcome, obstacle } = await chain.broadcast(bytes);
      return [outcome, obstacle];
    };
    const coins = await fixture.coins(payer.address);
    const available = { coins: [coins[0]] };
    const keys = new Map([[payer.address, payer.key]]);
    const made = async (to: string, rate: string | null, sent = amount) => {
      const draft = await chain.draft(pays(payer, to, amount), "slow");
      const body = JSON.stringify({ ...JSON.parse(draft.body), ...(rate && { rate }) });
      const order = pays(payer, to, sent);
      return await chain.sign(chain.plan({ ...draft, order, body }, available), keys);
    };
    deepEqual(await said(await made(one.address, "10")), ["unknown", "underpriced"]);
    deepEqual(await said(await made(one.address, null, 100n)), ["unknown", "other"], "dust");
    const first = await made(one.address, null);
    const forged = first.raw.replace(
      /(3044|3045)(....)(..)/,
      (_, der, lengths, byte) => `${der}${lengths}${byte === "11" ? "12" : "11"}`,
    );
    equal((await chain.broadcast({ ...first, raw: forged })).outcome, "unknown");
    deepEqual(await said({ ...first, raw: "00ff" }), ["unknown", "malformed"]);
    deepEqual(await said(first), ["accepted", null]);
    deepEqual(await said(first), ["accepted", null], "again");
    const rival = await made(two.address, null);
    deepEqual(await said(rival), ["unknown", "underpriced"], "a rival that pays no more");
    await mine();
    deepEqual(await said(first), ["known", null], "mined");
    deepEqual(await said(rival), ["unknown", "consumed"], "its coin is spent");
  },
});

Deno.test({
  name: "one node that takes the bytes suffices; silence of all is no verdict",
  ignore,
  fn: async () => {
    await using fixture = await openLitecoindFixture("LITECOIN");
    const { payer, party, amount, node } = fixture;
    const down = "http://127.0.0.1:9";
    const genesis = await node.rpc<string>("getblockhash", 0);
    await using lying = startFaultyNode(
      node.url.replace(/test:.*@/, ""),
      ({ method }) =>
        method === "getblockchaininfo"
          ? { chain: "regtest" }
          : method === "getblockhash"
          ? genesis
          : method === "sendrawtransaction"
          ? "cd".repeat(32)
          : undefined,
    );
    const { signed: bytes } = await signed(
      fixture,
      payer,
      pays(payer, (await party()).address, amount),
    );
    const alone = await (await fixture.open(down)).broadcast(bytes);
    deepEqual([alone.outcome, alone.obstacle], ["unknown", "silent"]);
    const lied = await (await fixture.open(lying.url)).broadcast(bytes);
    deepEqual([lied.outcome, lied.obstacle], ["unknown", "silent"]);
    const several = await fixture.open(down, lying.url, node.url);
    equal((await several.broadcast(bytes)).outcome, "accepted");
  },
});
