/**
 * The interactive reference at /docs and the pages that explain problems. Every asset is served by
 * this process, so the reference works with the network unplugged.
 * @module
 */
import { z } from "zod";
import { DomainError, type ErrorCode } from "../../domain/errors.ts";
import { PROBLEMS } from "./problems.ts";
import { basePathOf } from "./request_targets.ts";
import { searchIndex } from "./guides.ts";
import { prepare, type Prepared, replyPrepared, UNCHANGED } from "./prepared_texts.ts";
import { type AnyRoute, type Call, type Reply, route } from "./route.ts";

/** An asset of the reference: its type, and how its text is loaded when first asked for. */
interface Asset {
  type: string;
  load: () => Promise<string>;
}

// Imported as text: part of the module graph, so no file of the package cache is read by path.
const ASSETS: Readonly<Record<string, Asset>> = {
  "swagger-ui-bundle.js": {
    type: "text/javascript; charset=utf-8",
    load: async () =>
      (await import("swagger-ui-dist/swagger-ui-bundle.js", { with: { type: "text" } })).default,
  },
  "swagger-ui.css": {
    type: "text/css; charset=utf-8",
    load: async () =>
      (await import("swagger-ui-dist/swagger-ui.css", { with: { type: "text" } })).default,
  },
  "guide.css": {
    type: "text/css; charset=utf-8",
    load: async () => (await import("./guide.css", { with: { type: "text" } })).default,
  },
  "guide.js": {
    type: "text/javascript; charset=utf-8",
    load: async () => (await import("./guide.js", { with: { type: "text" } })).default,
  },
  "minisearch.js": {
    type: "text/javascript; charset=utf-8",
    load: async () => (await import("minisearch", { with: { type: "text" } })).default,
  },
  "icon.svg": { type: "image/svg+xml", load: () => Promise.resolve(ICON) },
  "start.js": { type: "text/javascript; charset=utf-8", load: () => Promise.resolve(START) },
};
/** A text of our own: an upgrade is seen at once. */
const REVALIDATED = { "cache-control": "no-cache" };
const PAGE_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "frame-ancestors 'none'";

/** The page, for a service that is reached under a path of its own, or under none. */
function pageAt(base: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Purser API</title>
<link rel="stylesheet" href="${base}/docs/assets/swagger-ui.css">
</head>
<body>
<p><a href="${base}/docs/guide">Guides</a></p>
<div id="reference" data-document="${base}/v1/openapi.json"></div>
<script src="${base}/docs/assets/swagger-ui-bundle.js"></script>
<script src="${base}/docs/assets/start.js"></script>
</body>
</html>
`;
}
/** A ledger's two columns. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="3" fill="#0b57b0"/>
<path d="M8 3v10M3 5h3M3 8h3M10 8h3M10 11h3" stroke="#fff"/>
</svg>
`;
const START = `SwaggerUIBundle({
  url: document.getElementById("reference").dataset.document,
  dom_id: "#reference",
  deepLinking: true,
  persistAuthorization: false,
  displayRequestDuration: true,
  validatorUrl: null,
});
`;

const page = {
  method: "GET",
  tag: "Operations",
  access: "open",
  status: 200,
  type: "text/html",
  answer: z.string(),
} as const;

/** The routes of the reference. */
export const docsRoutes: readonly AnyRoute[] = [
  route({
    ...page,
    path: "/",
    operation: "openReference",
    summary: "Lead a browser to the interactive reference",
    alternatives: ["text/html"],
    status: 302,
    errors: ["route.not_found"],
    handle: ({ accept, services }) => Promise.resolve(lead(accept, services.config.baseUrl)),
  }),
  route({
    ...page,
    path: "/docs",
    operation: "getReference",
    summary: "The interactive reference",
    errors: [],
    handle: ({ services }) => Promise.resolve(html(pageAt(basePathOf(services.config.baseUrl)))),
  }),
  route({
    ...page,
    path: "/docs/assets/{name}",
    operation: "getReferenceAsset",
    summary: "An asset of the reference",
    alternatives: ["text/javascript", "text/css", "application/json", "image/svg+xml"],
    params: z.strictObject({ name: z.string() }),
    others: UNCHANGED,
    errors: ["route.not_found"],
    handle: (call) => readAsset(call, call.params.name),
  }),
  route({
    ...page,
    path: "/problems/{code}",
    operation: "getProblem",
    summary: "Explain a problem",
    params: z.strictObject({ code: z.string() }),
    errors: ["problem.not_found"],
    handle: ({ params }) => Promise.resolve(problemPage(params.code)),
  }),
];

/** Clients other than browsers get 404. */
function lead(accept: string | null, baseUrl: string): Reply {
  if (!/\btext\/html\b/i.test(accept ?? "")) {
    throw new DomainError("route.not_found", "no route has this path");
  }
  const location = `${basePathOf(baseUrl)}/docs`;
  const { body, headers } = html(`<!doctype html><a href="${location}">The API reference</a>`);
  return { status: 302, body, headers: { ...headers, location } };
}

const prepared = new Map<string, Promise<Prepared>>();

async function readAsset<P, Q, B>(call: Call<P, Q, B>, name: string): Promise<Reply> {
  if (name === "search.json") {
    const index = await searchIndex(basePathOf(call.services.config.baseUrl));
    return replyPrepared(call, index, { "content-type": "application/json", ...REVALIDATED });
  }
  const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (asset === undefined) throw new DomainError("route.not_found", "there is no such asset");
  let text = prepared.get(name);
  if (text === undefined) {
    text = asset.load().then(prepare);
    prepared.set(name, text);
    text.catch(() => prepared.delete(name));
  }
  const caching = name.startsWith("guide.")
    ? REVALIDATED
    : { "cache-control": "public, max-age=86400" };
  const headers = { "content-type": asset.type, ...caching };
  return replyPrepared(call, await text, headers);
}

function problemPage(code: string): Reply {
  const known = Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code as ErrorCode] : undefined;
  if (known === undefined) throw new DomainError("problem.not_found", "there is no such problem");
  return html(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${code}</title></head>
<body><h1>${known.title}</h1><p><code>${code}</code>, HTTP status ${known.status}</p><p>${
    escape(known.help)
  }</p></body>
</html>
`);
}

function html(body: string): Reply {
  return {
    status: 200,
    body,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
    },
  };
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
