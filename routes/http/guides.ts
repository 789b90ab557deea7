/**
 * The guides at /docs/guide: pages of docs/ rendered when first asked for, with a navigation and a search that need no
 * network. No page has a script or a style of its own, so the policy forbids both.
 * @module
 */
import { z } from "zod";
import { DomainError } from "../../domain/errors.ts";
import { nameOf, PAGES, SECTIONS } from "./guide_pages.ts";
import type { GuideText } from "./guide_text.ts";
import { breathe, prepare, type Prepared, replyPrepared, UNCHANGED } from "./prepared_texts.ts";
import { basePathOf } from "./request_targets.ts";
import { type AnyRoute, type Call, type Reply, route } from "./route.ts";

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A page that is asked for again is compared by its tag: an upgrade is seen at once. */
const CACHE = "no-cache";
/** Pages of one installation are reached under one path; tests have a few. */
const BASES_MAX = 8;

const page = {
  method: "GET",
  tag: "Operations",
  access: "open",
  status: 200,
  type: "text/html",
  answer: z.string(),
  others: UNCHANGED,
} as const;

/** The routes of the guides. They stand behind those of the reference's assets. */
export const guideRoutes: readonly AnyRoute[] = [
  route({
    ...page,
    path: "/docs/guide",
    operation: "getGuides",
    summary: "The contents of the guides",
    errors: [],
    handle: (call) => reply(call, "README.md"),
  }),
  route({
    ...page,
    path: "/docs/{section}/{page}",
    operation: "getGuide",
    summary: "A page of the guides",
    params: z.strictObject({ section: z.string(), page: z.string() }),
    errors: ["route.not_found"],
    handle(call) {
      const found = PAGES.get(`${call.params.section}/${call.params.page}`);
      if (found === undefined) throw new DomainError("route.not_found", "there is no such page");
      return reply(call, found.file);
    },
  }),
];

/** What was made, by the path under which the service is reached. */
const prepared = new Map<string, Map<string, Promise<Prepared>>>();
let titles: Promise<ReadonlyMap<string, string>> | null = null;

async function reply<P, Q, B>(call: Call<P, Q, B>, file: string): Promise<Reply> {
  const base = basePathOf(call.services.config.baseUrl);
  return replyPrepared(call, await once(base, file, () => pageOf(file, base)), {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": POLICY,
    "cache-control": CACHE,
  });
}

/** Makes a text once for a path; one that could not be made is tried again. */
function once(base: string, name: string, make: () => Promise<string>): Promise<Prepared> {
  if (!prepared.has(base) && prepared.size >= BASES_MAX) prepared.clear();
  const known = prepared.get(base) ?? new Map<string, Promise<Prepared>>();
  prepared.set(base, known);
  let text = known.get(name);
  if (text === undefined) {
    text = make().then(prepare);
    known.set(name, text);
    text.catch(() => known.delete(name));
  }
  return text;
}

/** The words of all pages, for the search. */
export async function searchIndex(base: string): Promise<Prepared> {
  return await once(base, "search.json", async () => {
    const found: { id: number; page: string; url: string; title: string; text: string }[] = [];
    for (const [name, { file }] of PAGES) {
      const { title: page, parts } = await textOf(file, base);
      for (const { title, at, text } of parts) {
        found.push({ id: found.length, page, url: `${base}/docs/${name}#${at}`, title, text });
      }
      await breathe();
    }
    return JSON.stringify(found);
  });
}

async function textOf(file: string, base: string): Promise<GuideText> {
  // The library is loaded with the first page that somebody reads.
  const { renderGuide } = await import("./guide_text.ts");
  const load = PAGES.get(nameOf(file))?.load ??
    (() => import("../../docs/README.md", { with: { type: "text" } }));
  return renderGuide(file, (await load()).default, base);
}

/** The titles of all pages, by their names. */
function allTitles(): Promise<ReadonlyMap<string, string>> {
  titles ??= (async () => {
    const found = new Map<string, string>();
    for (const [name, { load }] of PAGES) {
      const [, title] = /^# (.*)$/m.exec((await load()).default)!;
      found.set(name, title.replaceAll("`", ""));
    }
    return found;
  })();
  titles.catch(() => titles = null);
  return titles;
}

async function pageOf(file: string, base: string): Promise<string> {
  const { escape } = await import("./guide_text.ts");
  const { title, html } = await textOf(file, base);
  const entry = (name: string, text: string) => {
    const current = name === nameOf(file) ? ' aria-current="page"' : "";
    return `<li><a href="${base}/docs/${name}"${current}>${escape(text)}</a></li>`;
  };
  const names = [...await allTitles()];
  const sections = Object.entries(SECTIONS).map(([section, heading]) => {
    const own = names.filter(([name]) => name.startsWith(`${section}/`));
    const open = section === "guide" || nameOf(file).startsWith(`${section}/`) ? " open" : "";
    return `<details${open}><summary>${heading}</summary><ul>${
      own.map(([name, text]) => entry(name, text)).join("\n")
    }</ul></details>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)} – Purser</title>
<link rel="icon" href="${base}/docs/assets/icon.svg">
<link rel="stylesheet" href="${base}/docs/assets/guide.css">
<script type="module" src="${base}/docs/assets/guide.js"></script>
</head>
<body>
<header>
<a class="home" href="${base}/docs/guide">Purser</a>
<search><input type="search" id="search_field" aria-label="Search" placeholder="Search" autocomplete="off"
 data-index="${base}/docs/assets/search.json" hidden><ol id="search_found" hidden></ol></search>
<a href="${base}/docs">API reference</a>
</header>
<nav aria-label="Pages">${sections.join("\n")}</nav>
<main>
${html}</main>
</body>
</html>
`;
}
