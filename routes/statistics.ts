/** Routes of statistics: figures of a whole realm over time, for its administrators. @module */
import { FlowsOf, flowsOver, FlowsView } from "../domain/audit/flows.ts";
import { depositStatistics, DepositStatisticsView } from "../domain/deposits/deposit_statistics.ts";
import { StatisticsOf } from "../domain/collections/statistics.ts";
import {
  withdrawalStatistics,
  WithdrawalStatisticsView,
} from "../domain/withdrawals/withdrawal_statistics.ts";
import { readMany } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const TAG = "Statistics";
const ADMIN = ["permission.role", "permission.scope"] as const;

/** The routes of statistics. */
export const statisticsRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/stats/flows",
    tag: TAG,
    operation: "getFlows",
    summary: "Read how much came in, went out and moved, by the hour or the day",
    description:
      "For administrators: counts, amounts and fiat values of transactions by asset and " +
      "type. They are sums that are kept beside the hash chain, by the ledger's time; `complete_to` " +
      "and `unsealed` tell what they lack. A withdrawal out of a virtual account is two transactions: " +
      "`inside` to its ramp, and `out` when it is paid.",
    access: "user",
    query: FlowsOf,
    status: 200,
    answer: FlowsView,
    mayLag: true,
    errors: ADMIN,
    handle: (call) => readMany(call, (db) => flowsOver(db, call.actor, call.query)),
  }),
  route({
    method: "GET",
    path: "/v1/stats/withdrawals",
    tag: TAG,
    operation: "getWithdrawalStatistics",
    summary: "Read how many withdrawals there are by status, and how long their steps take",
    description:
      "For administrators: of the withdrawals that were created in a range. Of more than " +
      "20000 the newest 20000 are read, and `complete` is false.",
    access: "user",
    query: StatisticsOf,
    status: 200,
    answer: WithdrawalStatisticsView,
    mayLag: true,
    errors: ADMIN,
    handle: (call) => readMany(call, (db) => withdrawalStatistics(db, call.actor, call.query)),
  }),
  route({
    method: "GET",
    path: "/v1/stats/deposits",
    tag: TAG,
    operation: "getDepositStatistics",
    summary: "Read how many deposits there are by status, and how long their steps take",
    description:
      "For administrators: of the deposits that were first seen in a range. Of more than " +
      "20000 the newest 20000 are read, and `complete` is false.",
    access: "user",
    query: StatisticsOf,
    status: 200,
    answer: DepositStatisticsView,
    mayLag: true,
    errors: ADMIN,
    handle: (call) => readMany(call, (db) => depositStatistics(db, call.actor, call.query)),
  }),
];
