/**
 * Links between the pages of the documentation, and the paths and tasks that they name.
 *
 * @module
 */
import { deepEqual, ok } from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);
const TOP = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
const LINK = /\]\(([^)\s:]+)\)/g;
const PATH =
  /`((?:bench|client|config|db|docs|domain|examples|launcher|lint|migrations|process|routes|tests|workers)\/[\w./-]+)`/g;

Deno.test("every link of a page leads to a file and a heading, and every path in it exists", async () => {
  const pages = [...TOP, ...await pagesIn("docs/")];
  ok(pages.length > 50, `${pages.length}`);
  const broken: string[] = [];
  for (const page of pages) {
    const text = await Deno.readTextFile(new URL(page, ROOT));
    for (const [, link] of text.matchAll(LINK)) {
      if (!await leads(new URL(link, new URL(page, ROOT)))) broken.push(`${page}: ${link}`);
    }
    for (const [, path] of text.matchAll(PATH)) {
      if (!await exists(new URL(path, ROOT))) broken.push(`${page}: ${path}`);
    }
  }
  deepEqual(broken, []);
});

Deno.test("every task that a page names is there", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const unknown: string[] = [];
  for (const page of [...TOP, ...await pagesIn("docs/")]) {
    const text = await Deno.readTextFile(new URL(page, ROOT));
    for (const [, task] of text.matchAll(/deno task ([a-z]+(?:-[a-z]+)*)/g)) {
      if (!Object.hasOwn(tasks, task)) unknown.push(`${page}: ${task}`);
    }
  }
  deepEqual(unknown, []);
});

async function leads(target: URL): Promise<boolean> {
  const heading = decodeURIComponent(target.hash.slice(1));
  const file = new URL(target);
  file.hash = "";
  if (!await exists(file)) return false;
  if (heading === "" || !file.pathname.endsWith(".md")) return true;
  const text = await Deno.readTextFile(file);
  return [...text.matchAll(/^#+ (.*)$/gm)].some(([, title]) => anchorOf(title) === heading);
}

/** The anchor that a heading gets where the pages are shown. */
function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
}

async function exists(file: URL): Promise<boolean> {
  try {
    await Deno.stat(file);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function pagesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...await pagesIn(`${folder}${name}/`));
    else if (name.endsWith(".md")) found.push(folder + name);
  }
  return found.sort();
}
