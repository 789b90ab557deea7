/** Every job's handler; a job without one does not compile. @module */
import { enableAccount } from "../../domain/accounts/accounts.ts";
import type { JobName, JobPayloads } from "../../domain/jobs.ts";
import { sendMessage } from "../messages/sending.ts";
import type { WorkerContext } from "../worker_context.ts";
import { settleSweepJob, sweepJob } from "../sweeping/sweeps.ts";
import { syncPersons } from "../people/sync.ts";
import { checkToken } from "../scanning/token_checks.ts";
import { checkExternalRamp } from "../exchanges/checks.ts";
import { advanceTransfer } from "../exchanges/transfers.ts";
import { openRampJob, reserveJob } from "../scanning/ramp_opening.ts";
import { rescanJob } from "../scanning/rescan.ts";
import { advanceOrder } from "../sending/sender.ts";

/** Does one job. It may run more than once, and two may run at once: only steps change things. */
export type Task<N extends JobName> = (
  context: WorkerContext,
  payload: JobPayloads[N],
) => Promise<void>;

/** The handlers. */
export const TASKS: { readonly [N in JobName]: Task<N> } = {
  "account.enable": async (context, { account }) => {
    await context.step((tx) => enableAccount(tx, context.actor, account), { lockLedger: true });
  },
  "deposit.sweep": sweepJob,
  "deposit.rescan": rescanJob,
  "deposit.swept": settleSweepJob,
  "exchange.advance": (context, transfer) => advanceTransfer(context, transfer),
  "exchange.check": checkExternalRamp,
  "message.send": sendMessage,
  "order.advance": (context, seen) => advanceOrder(context, seen),
  "persons.sync": syncPersons,
  "ramp.open": openRampJob,
  "ramp.reserve": reserveJob,
  "token.check": checkToken,
};
