/** The comparison with other ledgers, where it needs none of them. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { PEERS_MIB } from "../../bench/memory.ts";
import { type Cell, rotated } from "../../bench/peers/rounds.ts";
import { tablesOf } from "../../bench/peers/tables.ts";

const PAGE = new URL("../../docs/operations/performance.md", import.meta.url);

/** Rows of a table's text, without its head. */
const rowsOf = (table: string) =>
  table.split("\n").filter((line) => line.startsWith("| ")).slice(1).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );

Deno.test("the bench's limit of memory is what the documented run of other ledgers found", async () => {
  const page = await Deno.readTextFile(PAGE);
  const [, table] = page.split("\n| MiB resident, without PostgreSQL |");
  const rows = rowsOf(`| ${table.split("\n\n")[0]}`);
  const [ours, ...peers] = rows.map(([name, , , peak]) => ({ name, peak: Number(peak) }));
  equal(ours.name, "Purser");
  ok(peers.length > 1);
  const peaks = peers.map(({ peak }) => peak);
  deepEqual(PEERS_MIB, [Math.min(...peaks), Math.max(...peaks)]);
  const [cells] = rowsOf(
    `| head\n${page.split("\n").find((line) => line.startsWith("| memory of the service"))}`,
  );
  const [must] = cells.slice(-3); // before the aim and the verdict, behind as many runs as there are
  equal(Number(must), PEERS_MIB[0]);
});

Deno.test("each ledger is first in one round of as many as there are", () => {
  const all = ["a", "b", "c"];
  const rounds = [0, 1, 2, 3].map((round) => rotated(all, round));
  deepEqual(rounds.map(([first]) => first), ["a", "b", "c", "a"]);
  for (const round of rounds) deepEqual(round.toSorted(), all);
});

Deno.test("tables of other ledgers show medians with the least and the greatest, and nothing where nothing was measured", () => {
  const cell: Cell = {
    ...{ ratio: 1, ofPurser: 1, rate: 5000, p50: 4, p99: 20, cost: 0.25, wal: 1700, bytes: 800 },
    ...{ failed: 0, acknowledged: NaN },
  };
  const cells = new Map([
    ["A | uniform", [cell, { ...cell, ratio: 2, failed: 1 }, { ...cell, ratio: 0.041, failed: 2 }]],
    ["B | hot", [{ ...cell, p50: NaN, p99: NaN, cost: 12.34, acknowledged: 5319.4 }]],
  ]);
  const turn = { before: 100, after: 120, peak: 130 };
  const memory = new Map([
    ["A", [turn, { before: 140, after: 160, peak: 180 }, { ...turn, after: 125, peak: 126 }]],
    ["B", [{ before: 0, after: 0, peak: 0 }]],
  ]);
  const how = { seconds: 4, connections: 32, accounts: 1000, conditions: "a yardstick" };
  const text = tablesOf({ cells, memory, yardstick: [4000, 5000, 3000], rounds: 3 }, how);
  const [head, figures, acknowledged, resident] = text.split("\n\n");
  equal(
    head,
    "Medians of 3 rounds of 4 s, 32 connections, 1000 accounts; a yardstick, 4000 (3000 to 5000)/s.",
  );
  deepEqual(rowsOf(figures), [
    [
      "A",
      "uniform",
      "1.00",
      "1.00 (0.041 to 2.00)",
      "5000",
      "4.0",
      "20",
      "0.25",
      "1700",
      "800",
      "3",
    ],
    ["B", "hot", "1.00", "1.00", "5000", "", "", "12.3", "1700", "800", "0"],
  ]);
  equal(acknowledged, "B, hot: 5319/s acknowledged");
  deepEqual(rowsOf(resident), [["A", "100", "125", "180"]]);
});
