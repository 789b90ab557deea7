/** Votes of nodes on the status of a transaction that expires. */
import { deepEqual, equal, notEqual } from "node:assert/strict";
import { ChainError } from "../../workers/chains/chain.ts";
import { openNodes } from "../../workers/chains/node_pool.ts";
import type { Expiry, StatusQuery } from "../../workers/chains/outgoing.ts";
import { type NodeReport, voteOnStatus } from "../../workers/chains/status_votes.ts";

const QUERY: StatusQuery = {
  attempts: [{ hash: "one", raw: "00", inputs: [], expires: { height: 90 } }],
  since: 50,
  depth: 3,
};
const NOTHING = { mined: null, pending: null, dropped: null };

/** A node that takes its newest blocks for the proof of an expiry. */
function expired(height: number, expiry: Expiry): NodeReport {
  const settled = height - QUERY.depth + 1;
  const reached = "height" in expiry ? settled : expiry.time + settled;
  const proof = { proof: "expired", by: null, expiry, height: settled, reached } as const;
  return { ...NOTHING, height, settled, dropped: { state: "dropped", ...proof } };
}

function consumed(height: number, by: string, at: number): NodeReport {
  const proof = { proof: "consumed", by, height: at } as const;
  return { ...NOTHING, height, settled: height, dropped: { state: "dropped", ...proof } };
}

function mined(height: number, at: number): NodeReport {
  const block = { height: at, hash: `block ${at}`, parentHash: `block ${at - 1}`, time: at };
  const confirmations = height - at + 1;
  const done = { confirmations, final: true, success: true, fee: 1n, feeContract: null };
  return { ...open(height), mined: { state: "mined", hash: "one", block, ...done } };
}

function open(height: number): NodeReport {
  return { ...NOTHING, height, settled: height - QUERY.depth + 1 };
}

/** The status by a quorum of two among some nodes; no node is asked over the network. */
async function vote(...told: readonly NodeReport[]) {
  return await voteBy(QUERY, told);
}

async function voteBy(query: StatusQuery, told: readonly (NodeReport | null)[]) {
  const urls = told.map((_, at) => `http://127.0.0.1:${at + 1}`);
  const nodes = openNodes({ urls, quorum: 2, identify: () => Promise.resolve() });
  const { status } = await voteOnStatus(
    nodes,
    query,
    ({ name }) => {
      const report = told[Number(name.split(":")[1]) - 1];
      return report === null
        ? Promise.reject(new ChainError("unavailable", "away"))
        : Promise.resolve(report);
    },
  );
  return { status, reports: nodes.reports() };
}

Deno.test("nodes with other newest blocks agree that a transaction has expired, at the height that the quorum has reached", async () => {
  const expiry = { height: 90 };
  const dropped = { state: "dropped", proof: "expired", by: null, expiry };
  const { status, reports } = await vote(expired(100, expiry), expired(103, expiry));
  deepEqual(status, { ...dropped, height: 98, reached: 98 });
  deepEqual(reports, []);
  // The height of a node alone, which may be made up, is not believed.
  const { status: told } = await vote(expired(10 ** 9, expiry), expired(100, expiry));
  deepEqual(told, { ...dropped, height: 98, reached: 98 });
  const late = { time: 1_790_000_000_000 };
  const { status: timed } = await vote(expired(100, late), expired(101, late));
  deepEqual(timed, { ...dropped, expiry: late, height: 98, reached: late.time + 98 });
});

Deno.test("a transaction that one node shows in a block is not expired, whatever the others say", async () => {
  const expiry = { height: 90 };
  const [first, second] = [expired(100, expiry), expired(101, expiry)];
  const { status, reports } = await vote(first, second, mined(100, 89));
  deepEqual([status.state, status.state === "mined" && status.confirmations], ["mined", 0]);
  deepEqual(reports, ["127.0.0.1:3 show a transaction in a block that the others call expired"]);
});

Deno.test("one node, or nodes that tell other expiries, do not drop a transaction", async () => {
  const alone = await vote(expired(100, { height: 90 }), open(100));
  equal(alone.status.state, "unseen");
  deepEqual(alone.reports, ["only 127.0.0.1:1 say that a transaction has expired"]);
  for (const other of [{ height: 91 }, { time: 90 }]) {
    equal((await vote(expired(100, { height: 90 }), expired(100, other))).status.state, "unseen");
  }
});

Deno.test("nodes agree on the transaction that took the place of another, and on its block", async () => {
  const { status } = await vote(consumed(100, "other", 80), consumed(103, "other", 80));
  deepEqual(status, { state: "dropped", proof: "consumed", by: "other", height: 80 });
  equal(
    (await vote(consumed(100, "other", 80), consumed(100, "other", 81))).status.state,
    "unseen",
  );
  equal(
    (await vote(consumed(100, "other", 80), consumed(100, "third", 80))).status.state,
    "unseen",
  );
});

Deno.test("where all nodes are to say that a transaction has expired, neither a node that does not answer nor one that knows nothing is passed over", async () => {
  const gone = expired(100, { height: 90 });
  const all = { ...QUERY, all: true };
  for (const third of [null, open(100), mined(100, 80)]) {
    const { status } = await voteBy(all, [gone, gone, third]);
    notEqual(status.state, "dropped");
  }
  equal((await voteBy(all, [gone, gone, gone])).status.state, "dropped");
  equal((await voteBy(QUERY, [gone, gone, null])).status.state, "dropped");
});
