/** What one node of Tron tells of a payment before it is signed, alone among three, neither strands nor loses it. */
import { equal, match, ok } from "node:assert/strict";
import type { Chain } from "../../../workers/chains/chain.ts";
import { TRX } from "../../support/nodes/tron/client.ts";
import type { TronSurface, TronTrick } from "../../support/nodes/tron/surface.ts";
import { newTronParty, richTron, type TronParty } from "../../support/nodes/tron/wallet.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { deployed, openTronPlay, pays, signed, type TronPlay } from "./fixture.ts";

interface Scene {
  readonly play: TronPlay;
  readonly chain: Chain;
  readonly lying: TronSurface;
  readonly payer: TronParty;
  /** A token, of which the payer has some. */
  readonly usdt: string;
}

/** Tells other fields of an account. */
function tells(hex: string, fields: Record<string, unknown>): TronTrick {
  return async ({ path, body, honest }) => {
    const answer = await honest();
    if (!path.endsWith("/getaccount") || body.address !== hex) return answer;
    return { ...answer as object, address: hex, ...fields };
  };
}

/** A receiver that one node calls activated: its account costs more than twice what other payments may. */
async function activated({ play: { node }, chain, lying, payer }: Scene): Promise<void> {
  const to = newTronParty();
  lying.trick = tells(to.hex, { balance: 1 });
  const { bytes, plan } = await signed(chain, payer, pays(payer, to.address, TRX));
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await node.mine();
  const attempts = [{ ...bytes, body: plan.body }];
  const status = statusIs(await chain.status({ attempts, since: 0, depth: 1 }), "mined");
  equal(status.success, true);
  ok(status.fee > TRX && status.fee <= plan.fee, `${status.fee} of ${plan.fee}`);
}

async function hiddenContract({ chain, lying, payer, usdt }: Scene): Promise<void> {
  lying.trick = async ({ path, honest }) => {
    const answer = await honest();
    return path.endsWith("/getaccount") ? { ...answer as object, type: undefined } : answer;
  };
  for (const contract of [null, usdt]) {
    const order = pays(payer, usdt, contract === null ? TRX : 1n, contract);
    const fault = await chain.draft(order, "medium").then(() => null, (error) => error as Error);
    match(fault?.message ?? "it was drafted", /is a contract|is the contract of a token/);
  }
}

async function smallPart({ play: { node }, chain, lying }: Scene): Promise<void> {
  const from = newTronParty();
  await node.fund(from.address, 100n * TRX);
  lying.trick = tells(from.hex, { balance: 2_000_000 });
  const order = pays(from, richTron().address, "all");
  const [amount] = chain.plan(await chain.draft(order, "medium"), {}).amounts;
  ok(amount > 98n * TRX, `${amount}`);
}

/** A receiver that one node calls new, so that the payment would cost more than it may. */
async function calledNew({ play: { node }, chain, lying, payer }: Scene): Promise<void> {
  const to = newTronParty();
  await node.fund(to.address, TRX);
  lying.trick = async ({ path, body, honest }) =>
    path.endsWith("/getaccount") && body.address === to.hex ? {} : await honest();
  const order = pays(payer, to.address, TRX);
  const budget = { contract: null, units: TRX / 2n };
  await failsAs("held", chain.draft(order, "medium", budget));
}

async function heldLittle({ play: { node }, chain, lying }: Scene): Promise<void> {
  const from = newTronParty();
  await node.fund(from.address, 100n * TRX);
  lying.trick = tells(from.hex, { balance: 2_000_000 });
  await failsAs("held", chain.draft(pays(from, richTron().address, "all"), "medium"));
}

/** All nodes run the code of a token to its fault: they go on answering all else, and what they tell of it is its own. */
async function loops(
  { chain, payer, usdt }: Scene,
  peers: readonly TronSurface[],
): Promise<void> {
  const faults = [
    ["OutOfTimeException : CPU timeout for 'JUMP' operation executing", "held"],
    ["OutOfEnergyException : Not enough energy for 'SSTORE'", "refused"],
  ] as const;
  const coins = [{ address: payer.address, contract: null }];
  for (const [text, fault] of faults) {
    const message = new TextEncoder().encode(`class org.tron.core.vm.program.Program$${text}`);
    for (const peer of peers) {
      peer.trick = async ({ path, honest }) =>
        path.endsWith("/triggerconstantcontract")
          ? { result: { code: "OTHER_ERROR", message: message.toHex() } }
          : await honest();
    }
    const holding = { address: payer.address, contract: usdt };
    await failsAs(fault, chain.balances([holding], null));
    await failsAs(fault, chain.draft(pays(payer, newTronParty().address, 1n, usdt), "medium"));
    const described = chain.token(usdt).then((told) => `${told?.decimals}`, (error) => error.fault);
    equal(await described, fault === "held" ? "unavailable" : "null");
    const asked = Array.from({ length: 3 }, () => chain.balances(coins, null));
    for (const { amounts } of await Promise.all(asked)) ok(amounts[0] > 0n);
    if (fault === "refused") continue;
    // One that is busy says so of an honest token, too.
    peers[1].trick = ({ honest }) => honest();
    ok((await chain.balances([holding], null)).amounts[0] > 0n);
  }
}

/** Lies of the second of two nodes. */
const OF_TWO: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "of two nodes one that calls a receiver new has no payment fail for its cost": calledNew,
  "of two nodes one that tells little of what an address holds has no small part swept": heldLittle,
};

const STEPS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "a node that calls a new receiver activated leaves no payment whose cost nobody believes":
    activated,
  "a node that hides that the receiver is a contract has nothing paid to it": hiddenContract,
  "a node that tells little of what an address holds has no small part swept": smallPart,
};

Deno.test("a payment on Tron is drafted by what as many nodes as the quorum tell", async (t) => {
  await using play = await openTronPlay();
  const { node } = play;
  const payer = richTron();
  const usdt = await deployed(node, "Tether");
  for (const [name, step] of Object.entries(STEPS)) {
    await t.step(name, async () => {
      const peers = Array.from({ length: 3 }, () => node.peer());
      const chain = await play.open(peers.map(({ url }) => url), 2);
      await step({ play, chain, lying: peers[0], payer, usdt });
    });
  }
  await t.step("of two nodes that disagree none is believed", async () => {
    const peers = Array.from({ length: 2 }, () => node.peer());
    const chain = await play.open(peers.map(({ url }) => url), 2);
    const scene = { play, chain, lying: peers[0], payer, usdt };
    scene.lying.trick = async ({ path, honest }) => {
      const answer = await honest();
      return path.endsWith("/getaccount") ? { ...answer as object, type: undefined } : answer;
    };
    await failsAs("held", chain.draft(pays(payer, usdt, TRX), "medium"));
  });
  await t.step("a token that loops or traps is nobody's fault but its own", async () => {
    const peers = Array.from({ length: 2 }, () => node.peer());
    const chain = await play.open(peers.map(({ url }) => url), 2);
    await loops({ play, chain, lying: peers[0], payer, usdt }, peers);
  });
  for (const [name, lie] of Object.entries(OF_TWO)) {
    await t.step(name, async () => {
      const [honest, lying] = Array.from({ length: 2 }, () => node.peer());
      const chain = await play.open([honest.url, lying.url], 2);
      await lie({ play, chain, lying, payer, usdt });
      ok(chain.reports().some((one) => one.includes("contradict each other on a transaction")));
    });
  }
});
