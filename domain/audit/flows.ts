/**
 * Flows: how many transactions moved how much in each hour or day, from sums that are kept beside the hash chain. No
 * transaction is read for an answer, so it costs as much for a million of them as for one.
 * @module
 */
import { z } from "zod";
import {
  countFlows,
  type FlowRow,
  selectFlows,
  selectFlowsHead,
} from "../../db/audit/hourly_flows.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { invalidQuery } from "../collections/filter.ts";
import { assertOrder, Until } from "../collections/moments.ts";
import { Flag, Timestamp } from "../entity.ts";
import { TypeView } from "../ledger/posting.ts";
import { add, DecimalText, trim } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** For each step its length, how many an answer has unless a range is given, and how many it may have. */
const STEPS = {
  hour: { ms: HOUR_MS, usual: 24, most: 31 * 24 },
  day: { ms: DAY_MS, usual: 30, most: 366 },
} as const;
/** Most flows of an answer. */
const FLOWS_MAX = 20_000;
/** Most sums of hours that are added up for an answer: they take about a second. */
const SUMS_MAX = 1_000_000;

/** Which flows are asked for. */
export const FlowsOf = z.strictObject({
  from: Timestamp.optional().meta({
    description: "Milliseconds since the epoch; the flows begin with the hour or the day (UTC) " +
      "of this moment. Unless given, an answer by the hour has 24 hours, one by the day 30 days.",
  }),
  to: Until,
  step: z.enum(["hour", "day"]).default("hour").meta({
    description: "A range has at most 744 hours, or 366 days (UTC).",
  }),
  by: z.enum(["asset,type", "type,asset", "asset", "type"]).default("asset,type").meta({
    description: "What is told apart; the rest is added up. Without `asset` no flow has an " +
      "amount, since amounts of several assets have no sum.",
  }),
  asset: z.string().min(1).max(40).optional().meta({ description: "Of one asset alone." }),
  type: TypeView.optional().meta({ description: "Transactions of one type alone." }),
  testnet: Flag.default(false),
});
/** Which flows are asked for. */
export type FlowsOf = z.infer<typeof FlowsOf>;

const FlowView = z.object({
  at: z.number().int().meta({
    description: "The beginning of the hour or the day (UTC).",
    example: 1_790_002_800_000,
  }),
  asset: z.string().optional().meta({ example: "BTC" }),
  type: TypeView.optional(),
  direction: z.enum(["in", "out", "inside"]).meta({
    description: "Into the ledger (deposits, issues), out of it (payments, fees of a network, " +
      "destructions), or between its accounts.",
  }),
  count: z.number().int().meta({ description: "Transactions." }),
  amount: DecimalText.optional(),
  fiat: z.array(z.object({
    currency: z.string(),
    value: DecimalText,
    count: z.number().int(),
  })).meta({
    description: "Sums of the fiat values that the transactions have, by currency, and how many " +
      "have one. A transaction without a rate has none.",
  }),
});

/** Flows as shown. */
export const FlowsView = z.object({
  testnet: z.boolean(),
  step: z.enum(["hour", "day"]),
  from: z.number().int(),
  to: z.number().int(),
  complete_to: z.number().int().nullable().meta({
    description: "All transactions of earlier times are counted. Later ones may wait for their " +
      "link in the hash chain, and count with it. Null while there is no transaction.",
  }),
  unsealed: z.number().int().meta({
    description: "Transactions of the realm that wait for their link, and are not counted yet.",
  }),
  flows: z.array(FlowView).meta({
    description: "In the order of time. Where there were no transactions there is no flow.",
  }),
}).meta({ id: "Flows" });
/** Flows as shown. */
export type FlowsView = z.infer<typeof FlowsView>;

/**
 * Shows the flows of a range of the ledger's time.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function flowsOver(db: Db, actor: Actor, input: FlowsOf): Promise<FlowsView> {
  assertRealmAdmin(actor);
  const { step, testnet, asset = null, type = null } = input;
  const head = await selectFlowsHead(db);
  const { from, to } = rangeOf(input, head.now);
  if (await countFlows(db, { testnet, from, to }, SUMS_MAX + 1) > SUMS_MAX) {
    const many = `the range holds more than ${SUMS_MAX} sums of an hour, an asset and a type`;
    throw invalidQuery(pathOf(input), `${many}: a shorter one is expected`);
  }
  const by = {
    asset: asset !== null || input.by.includes("asset"),
    type: input.by.includes("type"),
  };
  const part = { testnet, from, to, stepMs: STEPS[step].ms, by, asset, type };
  const rows = await selectFlows(db, { ...part, limit: FLOWS_MAX + 1 });
  if (rows.length > FLOWS_MAX) {
    const most = `an answer has at most ${FLOWS_MAX} flows`;
    throw invalidQuery(
      pathOf(input),
      `${most}: a shorter range, a longer step or less in by is expected`,
    );
  }
  return {
    ...{ testnet, step, from, to, complete_to: head.complete_to },
    unsealed: parseInt(head.unsealed, 10),
    flows: merged(rows.toSorted(inOrder)),
  };
}

/** The range that is meant: from the beginning of an hour or a day, to a moment, both included. */
function rangeOf(input: FlowsOf, now: number): { from: number; to: number } {
  assertOrder(input);
  const { ms, usual, most } = STEPS[input.step];
  const beginning = (at: number) => at - at % ms;
  const to = Math.min(input.to ?? now, now);
  if (input.from !== undefined && input.from > to) {
    throw invalidQuery("/from", "a time that has passed is expected");
  }
  const from = beginning(input.from ?? Math.max(0, to - (usual - 1) * ms));
  if ((beginning(to) - from) / ms >= most) {
    throw invalidQuery(pathOf(input), `a range of at most ${most} ${input.step}s is expected`);
  }
  return { from, to };
}

/** The parameter to change where a range is too long. */
function pathOf({ to }: FlowsOf): string {
  return to === undefined ? "/from" : "/to";
}

/** Merges the rows of one flow, which differ in the currency of their fiat values. */
function merged(rows: readonly FlowRow[]): z.infer<typeof FlowView>[] {
  const flows: z.infer<typeof FlowView>[] = [];
  let last: FlowRow | null = null;
  for (const row of rows) {
    const { currency, value, count } = row;
    let flow = flows[flows.length - 1];
    if (last === null || !isSameFlow(last, row)) flows.push(flow = viewFlow(row));
    flow.count += count;
    if (flow.amount !== undefined) flow.amount = trim(add(flow.amount, row.amount));
    if (currency !== "") flow.fiat.push({ currency, value: trim(value), count });
    last = row;
  }
  return flows;
}

function inOrder(a: FlowRow, b: FlowRow): number {
  return a.at - b.at || compareTexts(a.asset ?? "", b.asset ?? "") ||
    compareTexts(a.type ?? "", b.type ?? "") || compareTexts(a.direction, b.direction) ||
    compareTexts(a.currency, b.currency);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isSameFlow(a: FlowRow, b: FlowRow): boolean {
  return a.at === b.at && a.asset === b.asset && a.type === b.type && a.direction === b.direction;
}

/** A flow of which nothing is counted yet. */
function viewFlow({ at, asset, type, direction }: FlowRow): z.infer<typeof FlowView> {
  return {
    at,
    ...(asset === null ? {} : { asset }),
    ...(type === null ? {} : { type: type as z.infer<typeof TypeView> }),
    direction,
    count: 0,
    ...(asset === null ? {} : { amount: "0" }),
    fiat: [],
  };
}
