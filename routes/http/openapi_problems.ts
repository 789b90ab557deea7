/**
 * Refusals in the OpenAPI document: which codes a route can answer, as shared responses. Routes with
 * the same codes of a status refer to the same response.
 * @module
 */
import type { ErrorCode } from "../../domain/errors.ts";
import { PROBLEMS } from "./problems.ts";
import type { Json } from "./openapi_schemas.ts";
import type { AnyRoute } from "./route.ts";
import { takesMatch } from "./preconditions.ts";

/** Codes that any route can answer. */
const COMMON: readonly ErrorCode[] = [
  "request.malformed",
  "request.invalid",
  "query.invalid",
  "request.not_acceptable",
  "rate.limited",
  "internal",
  "service.overloaded",
];
const KEYED: readonly ErrorCode[] = [
  "auth.missing",
  "auth.invalid",
  "auth.expired",
  "auth.revoked",
  "credits.exhausted",
];
/** Of routes whose body is read. */
const READING: readonly ErrorCode[] = ["request.too_large", "request.media_type"];

const EXAMPLE_INSTANCE = "019b76da-a800-7000-8000-000000000001";

const NAMES: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  402: "CreditsExhausted",
  403: "Forbidden",
  404: "NotFound",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  412: "PreconditionFailed",
  413: "TooLarge",
  415: "UnsupportedMediaType",
  422: "Unprocessable",
  429: "RateLimited",
  500: "InternalError",
  501: "ExtensionDisabled",
  502: "UpstreamFailed",
  503: "Unavailable",
  504: "UpstreamTimeout",
};
/** Headers that say what is left to a realm. */
export const ALLOWANCE: readonly string[] = [
  ...["ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining"],
  ...["ratelimit-reset", "x-credits-remaining"],
];
const HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ["www-authenticate"],
  402: ALLOWANCE,
  429: ["retry-after", ...ALLOWANCE],
  503: ["retry-after"],
};

/** Collects the responses that routes share. */
export interface ProblemWriter {
  components: Record<string, Json>;
  /** The refusals of a route by status. */
  write(route: AnyRoute): Json;
}

/** Begins a document's refusals. */
export function createProblemWriter(headersOf: (names: readonly string[]) => Json): ProblemWriter {
  const components: Record<string, Json> = {};
  const names = new Map<string, string>();

  function share(status: number, codes: ErrorCode[]): Json {
    const key = codes.join();
    let name = names.get(key);
    if (name === undefined) {
      const like = [...names.values()].filter((one) => one.replace(/\d+$/, "") === NAMES[status]);
      name = `${NAMES[status]}${like.length === 0 ? "" : like.length + 1}`;
      names.set(key, name);
      components[name] = {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].help}`).join("\n\n"),
        headers: headersOf(["x-request-id", ...HEADERS[status] ?? []]),
        content: {
          "application/problem+json": {
            schema: {
              allOf: [{ $ref: "#/components/schemas/Problem" }],
              properties: { status: { const: status }, code: { enum: codes } },
            },
            example: problemExample(codes),
          },
        },
      };
    }
    return { $ref: `#/components/responses/${name}` };
  }

  return {
    components,
    write(route) {
      const byStatus = new Map<number, ErrorCode[]>();
      for (const code of [...codesOf(route)].sort()) {
        const { status } = PROBLEMS[code];
        byStatus.set(status, [...byStatus.get(status) ?? [], code]);
      }
      const statuses = [...byStatus].sort(([a], [b]) => a - b);
      return Object.fromEntries(statuses.map(([status, codes]) => [status, share(status, codes)]));
    },
  };
}

/** A refusal by the code that says most of these routes. */
function problemExample(codes: readonly ErrorCode[]): Json {
  const code = codes.find((one) => !COMMON.includes(one) && !KEYED.includes(one)) ?? codes[0];
  const { status, title, help } = PROBLEMS[code];
  const type = `https://purser.example/problems/${code}`;
  return { type, title, status, detail: help, code, instance: EXAMPLE_INSTANCE };
}

function codesOf(route: AnyRoute): Set<ErrorCode> {
  const codes = new Set<ErrorCode>([...COMMON, ...route.errors]);
  if (route.access !== "open") { for (const code of KEYED) codes.add(code); }
  if (route.method !== "GET" || route.body !== undefined) {
    for (const code of READING) codes.add(code);
  }
  if (route.method === "POST" || route.method === "PATCH") codes.add("idempotency.key_reused");
  if (takesMatch(route)) codes.add("version.conflict").add("request.invalid");
  return codes;
}

/** The schema of a problem. */
export function problemSchema(): Json {
  return {
    type: "object",
    description: "A problem (RFC 9457). Clients switch on `code`.",
    required: ["type", "title", "status", "detail", "code", "instance"],
    properties: {
      type: { type: "string", format: "uri", description: "A page that explains the code." },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string" },
      code: { type: "string", enum: Object.keys(PROBLEMS) },
      instance: { type: "string", description: "The request id." },
      errors: {
        type: "array",
        description: "Each fault of the request.",
        items: {
          type: "object",
          required: ["path", "message"],
          properties: {
            path: { type: "string", description: "JSON pointer." },
            in: {
              type: "string",
              enum: ["query", "path", "header"],
              description: "The part of the request that it points into, if not the body.",
            },
            message: { type: "string" },
          },
        },
      },
      index: { type: "integer", description: "Position of the refused item in a batch." },
    },
  };
}
