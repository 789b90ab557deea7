/** Texts of the OpenAPI document about the service as a whole: keys, headers, tags. @module */
import type { Json } from "./openapi_schemas.ts";
import type { Access } from "./route.ts";

const DESCRIPTION = `Digital-asset accounting: a double-entry ledger with wallets on blockchains.

**Keys.** The platform key is the operator's. An application key names a realm and does nothing but
log in. A login gives a user key; \`POST /v1/keys\` gives one to a machine. All are sent as
\`x-api-key\`.

**Amounts** are exact decimals, as strings; requests may also give a JSON number, whose digits as
written count. **Times** are milliseconds since the epoch.

**Repeats.** A POST or PATCH with an \`idempotency-key\` takes effect once. **Refusals** are problems
(RFC 9457); clients switch on \`code\`.

**Queries.** \`query\` of a list or a count is a JSON object: fields (dotted into \`data\` and other
objects) with a value, or with operators: \`$eq $ne $gt $gte $lt $lte $in $nin $exists $contains\`;
\`$and\` and \`$or\` take lists of such objects, \`$not\` takes one. For example:
\`{"asset": "BTC", "created_at": {"$gte": 1767225600000}, "$or": [{"frozen": true}, {"data.tags":
{"$contains": "vip"}}]}\`. At most 100 conditions, nested 8 deep.`;

/** The document's own title. */
export const SERVICE: Json = {
  title: "Purser",
  version: "1.0.0",
  description: DESCRIPTION,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

/** The description of each tag. */
export const TAGS: Readonly<Record<string, string>> = {
  "Authentication": "Logins, and the keys that they give.",
  "Realms": "Tenants of the installation, each with data of its own.",
  "Users": "People and programs that log in, with roles and scopes.",
  "Keys": "Machine keys: each acts as its user.",
  "Identities": "Holders of accounts.",
  "Persons": "Profiles of identities, and custom events of persons.",
  "Companies": "Profiles that any number of identities name.",
  "Accounts": "Virtual accounts, ramps to a chain, and deposit accounts with their addresses.",
  "Blocks": "Value that stays in an account and is promised elsewhere.",
  "Aliases": "Names by which accounts and identities are found.",
  "Currencies": "Virtual currencies: created, issued and destroyed.",
  "Rates": "Rates between assets and currencies.",
  "Transactions": "Transfers between accounts, and the hash chain over them.",
  "Deposits": "Value that arrived from a chain.",
  "Deposit application": "Addresses whose deposits go on to a virtual account.",
  "Withdrawals": "Value that leaves to an address on a chain.",
  "Consolidations": "Small coins of a ramp spent into one.",
  "Fungible tokens": "Tokens on chains: deployed and registered.",
  "Messages": "E-mails, texts and WhatsApp messages.",
  "Chains": "Assets, and the chains that this installation follows.",
  "External ramps": "Accounts at exchanges, and transfers from and to them.",
  "Search": "Entities found by ids, whole keys and the beginnings of names.",
  "Solvency": "The balances on the chains, compared with the ledger's liabilities.",
  "Statistics": "What a realm moved over time, and how long it took.",
  "Stops": "Emergency stops.",
  "Notes": "Notes of those who work for the realm about its entities.",
  "Events": "What happened: sent to webhooks, streamed, and listed.",
  "Operations": "Health, the trail of changes, and this reference.",
};

/** How each key is sent. */
export const SECURITY_SCHEMES: Json = {
  platformKey: key("The operator's key of the installation."),
  applicationKey: key("A key of a realm that can do nothing but log in."),
  userKey: key("The key of a login, or a key for a machine."),
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "Any of the keys, where a client sends Authorization.",
  },
  providerBearer: {
    type: "http",
    scheme: "bearer",
    description: "INFOBIP_WEBHOOK_SECRET, for webhooks of the provider of messages.",
  },
  providerBasic: {
    type: "http",
    scheme: "basic",
    description: "The same secret as the password, with any user.",
  },
  providerSignature: {
    type: "apiKey",
    in: "header",
    name: "x-ib-exchange-req-signature",
    description: "With INFOBIP_WEBHOOK_AUTH=hmac: HMAC-SHA-256 under the same secret, in " +
      "hexadecimal, of the header x-ib-exchange-req-timestamp followed by the body.",
  },
};

function key(description: string): Json {
  return { type: "apiKey", in: "header", name: "x-api-key", description };
}

const BEARER = { bearer: [] };
/** Which keys a route takes. */
export const SECURITY: Readonly<Record<Access, readonly Json[]>> = {
  "open": [],
  "open or platform": [{}, { platformKey: [] }, BEARER],
  "application": [{ applicationKey: [] }, BEARER],
  "user": [{ userKey: [] }, BEARER],
  "platform": [{ platformKey: [] }, BEARER],
  "platform or user": [{ platformKey: [] }, { userKey: [] }, BEARER],
  "provider": [{ providerBearer: [] }, { providerBasic: [] }, { providerSignature: [] }],
};

const WHOLE = { type: "integer", minimum: 0 };
/** Headers of answers. */
export const HEADERS: Json = {
  "x-request-id": header("The caller's, if it sent a safe one; else made here.", {
    type: "string",
  }),
  "ratelimit-limit": header("Requests that the realm may burst to.", WHOLE),
  "ratelimit-remaining": header("Requests left at the moment.", WHOLE),
  "ratelimit-reset": header("Seconds until all are there again.", WHOLE),
  "ratelimit": header(
    "Requests left and seconds until they are all there again, where the realm has a limit: " +
      "draft-ietf-httpapi-ratelimit-headers.",
    { type: "string" },
  ),
  "ratelimit-policy": header("The limit itself, where the realm has one.", { type: "string" }),
  "location": header("Path of what was made.", { type: "string", format: "uri-reference" }),
  "link": header('The next part of the list, where there is one: `<path>; rel="next"`.', {
    type: "string",
  }),
  "deprecation": header("Since when the route is deprecated: `@` and seconds since the epoch.", {
    type: "string",
  }),
  "sunset": header("When the route will be gone.", { type: "string" }),
  "x-credits-remaining": header("Credits left this month.", WHOLE),
  "retry-after": header("Seconds to wait.", WHOLE),
  "idempotency-replayed": header("`true` on the answer to a repeat.", { const: "true" }),
  "etag": header("The version of the entity and of this answer.", { type: "string" }),
  "preference-applied": header("The wait that was honoured.", { type: "string" }),
  "replica-lag": header(
    "A replica answered: all that was answered more than so many milliseconds ago is in it. " +
      "Without the header the primary answered.",
    WHOLE,
  ),
  "www-authenticate": header("The scheme that is expected.", { type: "string" }),
};

function header(description: string, schema: Json): Json {
  return { description, schema };
}
