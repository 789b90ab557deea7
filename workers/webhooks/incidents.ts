/** Finds incidents of a realm, and tells of them. @module */
import { tellLagging, tellStuck } from "../../domain/webhooks/incidents.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Tells of chains that fell behind and of withdrawals that are stuck, once each. */
export async function tellIncidents({ step, actor, realm, log }: WorkerContext): Promise<void> {
  for (const chain of await step((tx) => tellLagging(tx, actor))) {
    log("warn", "a chain is behind", { realm: realm.id, chain });
  }
  for (const withdrawal of await step((tx) => tellStuck(tx, actor))) {
    log("warn", "a withdrawal is stuck", { realm: realm.id, withdrawal });
  }
}
