/** Figures of withdrawals, whose history tells when they were sent, in a block and done. @module */
import {
  type CountedPart,
  selectStatistics,
  type StatisticsRow,
} from "../collections/statistics.ts";
import type { Db } from "../database.ts";

/** Reads the figures of withdrawals. A step that happened again after a reorganisation counts as of the last time. */
export async function selectWithdrawalStatistics(
  db: Db,
  part: CountedPart,
): Promise<StatisticsRow> {
  return await selectStatistics(db, {
    table: "withdrawals",
    columns: "status, history",
    beside: `cross join lateral (
      select min(e.at) filter (where e.event = 'created') as created, min(e.at) filter (where e.event = 'sent') as sent,
        max(e.at) filter (where e.event = 'mined') as mined, max(e.at) filter (where e.event = 'done') as done
      from (select (x ->> 'at')::bigint as at, x ->> 'event' as event
        from jsonb_array_elements(case when r.fits then r.history else '[]' end) x) e) h`,
    groups: { status: "r.status" },
    steps: {
      sent: "h.sent - h.created",
      mined: "h.mined - h.sent",
      done: "h.done - h.mined",
      total: "h.done - h.created",
    },
  }, part);
}
