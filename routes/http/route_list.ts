/** The list of all routes. Fixed paths stand before those with an id in the same place. @module */
import { accountRoutes } from "../accounts.ts";
import { addressRoutes } from "../addresses.ts";
import { aliasRoutes } from "../aliases.ts";
import { apiKeyRoutes } from "../api_keys.ts";
import { loginRoutes } from "../logins.ts";
import { auditRoutes } from "../audit.ts";
import { blockRoutes } from "../blocks.ts";
import { chainOrderRoutes } from "../chain_orders.ts";
import { chainRoutes } from "../chains.ts";
import { companyRoutes } from "../companies.ts";
import { consolidationRoutes } from "../consolidations.ts";
import { currencyRoutes } from "../currencies.ts";
import { depositAppRoutes } from "../deposit_apps.ts";
import { depositRoutes } from "../deposits.ts";
import { docsRoutes } from "./docs.ts";
import { entryRoutes } from "../entries.ts";
import { eventRoutes } from "../events.ts";
import { externalAddressRoutes } from "../external_addresses.ts";
import { externalRampRoutes } from "../external_ramps.ts";
import { fungibleTokenRoutes } from "../tokens.ts";
import { guideRoutes } from "./guides.ts";
import { healthRoutes } from "./health.ts";
import { identityRoutes } from "../identities.ts";
import { issuanceRoutes } from "../issuance.ts";
import { jobRoutes } from "../jobs.ts";
import { metricsRoutes } from "./metrics.ts";
import { noteRoutes } from "../notes.ts";
import { personRoutes } from "../persons.ts";
import { openapiRoutes } from "./openapi.ts";
import { hashChainRoutes } from "../hash_chain.ts";
import { reversalRoutes } from "../reversals.ts";
import { rateRoutes } from "../rates.ts";
import { realmRoutes } from "../realms.ts";
import { messageRoutes } from "../messages.ts";
import { messageWebhookRoutes } from "../message_webhooks.ts";
import type { AnyRoute } from "./route.ts";
import { searchRoutes } from "../search.ts";
import { secondFactorRoutes } from "../second_factors.ts";
import { sessionRoutes } from "../sessions.ts";
import { solvencyRoutes } from "../solvency.ts";
import { statisticsRoutes } from "../statistics.ts";
import { stopRoutes } from "../stops.ts";
import { transactionRoutes } from "../transactions.ts";
import { userRoutes } from "../users.ts";
import { webhookRoutes } from "../webhooks.ts";
import { withdrawalRoutes } from "../withdrawals.ts";

/** All routes, in the order in which they are tried. */
export function allRoutes(): AnyRoute[] {
  return [
    ...sessionRoutes,
    ...realmRoutes,
    ...auditRoutes,
    ...messageWebhookRoutes,
    ...messageRoutes,
    ...userRoutes,
    ...secondFactorRoutes,
    ...loginRoutes,
    ...apiKeyRoutes,
    ...companyRoutes,
    ...personRoutes,
    ...identityRoutes,
    ...addressRoutes,
    ...externalAddressRoutes,
    ...depositRoutes,
    ...depositAppRoutes,
    ...accountRoutes,
    ...consolidationRoutes,
    ...chainOrderRoutes,
    ...chainRoutes,
    ...entryRoutes,
    ...blockRoutes,
    ...aliasRoutes,
    ...currencyRoutes,
    ...issuanceRoutes,
    ...rateRoutes,
    ...hashChainRoutes,
    ...reversalRoutes,
    ...transactionRoutes,
    ...withdrawalRoutes,
    ...fungibleTokenRoutes,
    ...externalRampRoutes,
    ...searchRoutes,
    ...solvencyRoutes,
    ...statisticsRoutes,
    ...stopRoutes,
    ...jobRoutes,
    ...noteRoutes,
    ...webhookRoutes,
    ...eventRoutes,
    ...openapiRoutes(allRoutes),
    ...docsRoutes,
    ...guideRoutes,
    ...healthRoutes,
    ...metricsRoutes,
  ];
}
