/** The schema of each event's data, for documentation. @module */
import { z } from "zod";
import { AccountView } from "../accounts/accounts.ts";
import { SolvencyView } from "../audit/solvency.ts";
import { TokenView } from "../currencies/token_views.ts";
import { DepositAppView } from "../deposits/deposit_apps.ts";
import { DepositView } from "../deposits/deposit_views.ts";
import type { EventType } from "../events.ts";
import { RampTransferView } from "../exchanges/ramp_transfer_views.ts";
import { TransactionView } from "../ledger/posting.ts";
import { DeadJobView } from "../jobs/job_views.ts";
import { MessageView } from "../messages/messages.ts";
import { SyncView } from "../people/sync.ts";
import { StopView } from "../stops/stops.ts";
import { WithdrawalView } from "../withdrawals/withdrawal_views.ts";
import { WebhookView } from "./webhooks.ts";

/** The meaning of an event, and the schema of its data. */
export interface EventSchema {
  summary: string;
  data: z.ZodType;
}

const place = { chain: z.string(), network: z.string() };
const whole = z.number().int();

/** The events, with the schemas of their data. */
export const EVENT_SCHEMAS: Readonly<Record<EventType, EventSchema>> = {
  "account.enabled": { summary: "An account is ready", data: AccountView },
  "transaction.created": { summary: "A transaction was posted", data: TransactionView },
  "deposit.pending": { summary: "A deposit was seen on its chain", data: DepositView },
  "deposit.confirmed": { summary: "A deposit was credited", data: DepositView },
  "deposit.orphaned": { summary: "A deposit is no longer on its chain", data: DepositView },
  "deposit.forwarded": { summary: "A deposit was swept to its ramp", data: DepositView },
  "app.deposit.updated": { summary: "A deposit application changed", data: DepositAppView },
  "withdrawal.updated": { summary: "A withdrawal was created or changed", data: WithdrawalView },
  "withdrawal.stuck": {
    summary: "A withdrawal is in no block two hours after its creation",
    data: WithdrawalView,
  },
  "token.deployed": { summary: "A token was deployed", data: TokenView },
  "message.updated": { summary: "A message was sent, or its status changed", data: MessageView },
  "persons.sync.finished": { summary: "A synchronization of persons ended", data: SyncView },
  "solvency.drift": {
    summary:
      "Chain and ledger disagree about an asset, or agree again. What stays missing is written off (POST /v1/solvency/write-off)",
    data: SolvencyView,
  },
  "chain.quarantined": {
    summary: "A ramp is in quarantine until it is reconciled",
    data: z.object({ id: z.string(), code: z.string(), detail: z.string(), at: whole }),
  },
  "chain.halted": {
    summary: "The scanning of a chain halted until an operator acts",
    data: z.object({ ...place, detail: z.string(), at: whole }),
  },
  "chain.lagging": {
    summary: "A chain was not read for ten minutes, or many of its blocks are unread",
    data: z.object({ ...place, height: whole, scanned: whole, lag: whole, scanned_at: whole }),
  },
  "ramp.cost_limited": {
    summary: "The network has cost a ramp as much as a day may",
    data: z.object({ ramp: z.string(), ...place, reason: z.string() }),
  },
  "ramp.gas_insufficient": {
    summary: "A sweep waits until a ramp's account covers its gas",
    data: z.object({ account: z.string(), ramp: z.string(), ...place, reason: z.string() }),
  },
  "address.paused": {
    summary: "More deposits arrived at a linked address than a day records: it is watched no more",
    data: z.object({
      ...{ account: z.string(), address: z.string(), ...place, limit: whole, at: whole },
    }),
  },
  "ramp.transfer.updated": {
    summary: "A transfer with an exchange was ordered, or its status changed",
    data: RampTransferView,
  },
  "stop.set": { summary: "A stop was set", data: StopView },
  "stop.lifted": { summary: "A stop was lifted", data: StopView },
  "coin.corrected": {
    summary: "A coin of a ramp was taken out of its holdings, or put back",
    data: z.looseObject({ ...place, ramp: z.string(), by: z.string().nullable() }),
  },
  "job.dead": { summary: "The last attempt of a job failed", data: DeadJobView },
  "webhook.disabled": { summary: "The service deactivated a webhook", data: WebhookView },
  "webhook.test": { summary: "A test of a webhook", data: WebhookView },
};
