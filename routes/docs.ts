/**
 * The interactive reference at /docs and the pages that explain problems. Every asset is served by
 * this process, so the reference works with the network unplugged.
 * @module
 */
import { z } from "zod";
import { DomainError, type ErrorCode } from "../domain/errors.ts";
import { PROBLEMS } from "./errors.ts";
import { type AnyRoute, type Reply, route } from "./route.ts";

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
  "start.js": { type: "text/javascript; charset=utf-8", load: () => Promise.resolve(START) },
};
const PAGE_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Purser API</title>
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/start.js"></script>
</body>
</html>
`;
const START = `SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  persistAuthorization: true,
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
    path: "/docs",
    summary: "The interactive reference",
    errors: [],
    handle: () => Promise.resolve(html(PAGE)),
  }),
  route({
    ...page,
    path: "/docs/assets/{name}",
    summary: "An asset of the reference",
    params: z.strictObject({ name: z.string() }),
    errors: ["route.not_found"],
    handle: ({ params }) => readAsset(params.name),
  }),
  route({
    ...page,
    path: "/problems/{code}",
    summary: "What a problem means",
    params: z.strictObject({ code: z.string() }),
    errors: ["problem.not_found"],
    handle: ({ params }) => Promise.resolve(problemPage(params.code)),
  }),
];

async function readAsset(name: string): Promise<Reply> {
  const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (asset === undefined) throw new DomainError("route.not_found", "there is no such asset");
  return {
    status: 200,
    body: await asset.load(),
    headers: { "content-type": asset.type, "cache-control": "public, max-age=86400" },
  };
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
