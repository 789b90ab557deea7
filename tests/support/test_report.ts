/**
 * What is told of a run of many processes: as `deno test` tells it of one, on the terminal and in the form of JUnit.
 *
 * @module
 */
import type { GroupsResult, Unreported } from "./test_groups.ts";
import { type Counts, formatCounts } from "./test_output.ts";

/** Groups of which the time is told. */
const SLOWEST = 8;

/** The end of a run, as lines. */
export function reportOf(result: GroupsResult, ms: number): string[] {
  const { errors, failures, counts, seconds } = result;
  const slowest = Object.entries(seconds).sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
  return [
    ...(failures.length > 0 ? ["", " ERRORS ", "", ...errors, " FAILURES ", "", ...failures] : []),
    "",
    `longest: ${slowest.map(([name, took]) => `${name} ${Math.round(took)} s`).join(", ")}`,
    formatCounts(counts, `${Math.floor(ms / 60_000)}m${Math.floor(ms / 1000) % 60}s`),
  ];
}

/** The counts of a run, alone on a line. */
export function closingLine({ passed, failed, ignored, filtered }: Counts): string {
  const skipped = ignored + filtered;
  return `${passed} passed, ${failed} failed` + (skipped > 0 ? `, ${skipped} skipped` : "");
}

/** Writes one report in the form of JUnit out of those of the processes. */
export async function writeJunit(path: string, result: GroupsResult, ms: number): Promise<void> {
  const texts = await Promise.all(result.reports.map((report) => Deno.readTextFile(report)));
  const suites = [
    ...texts.map((text) => text.slice(text.indexOf("<testsuite "), text.indexOf("</testsuites>"))),
    ...result.unreported.map(suiteOf),
  ].filter((text) => text.startsWith("<testsuite "));
  const all = suites.join("    ");
  const count = (pattern: RegExp) => all.match(pattern)?.length ?? 0;
  const counts = `tests="${count(/<testcase /g)}" failures="${count(/<failure /g)}"`;
  const errors = `errors="${count(/<error /g)}"`;
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n';
  const open = `<testsuites name="deno test" ${counts} ${errors} time="${
    (ms / 1000).toFixed(3)
  }">\n    `;
  await Deno.writeTextFile(path, `${head}${open}${all}</testsuites>\n`);
}

function suiteOf({ group, ended, lost }: Unreported): string {
  const cases = ended.map(({ path: [title], outcome, took }) =>
    caseOf(group, title, secondsOf(took), outcome === "FAILED" ? `lost: ${lost.why}` : null)
  );
  cases.push(caseOf(group, lost.title, 0, lost.why));
  return `<testsuite name="${escaped(group)}">\n${cases.join("")}    </testsuite>\n`;
}

function caseOf(group: string, title: string, seconds: number, failure: string | null): string {
  const inside = failure === null ? "" : `            <failure message="${escaped(failure)}"/>\n`;
  const time = seconds.toFixed(3);
  return `        <testcase name="${escaped(title)}" classname="${escaped(group)}" time="${time}">
${inside}        </testcase>
`;
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, "µs": 1e-6 };

/** A duration as `deno test` prints it, as in `1m2s`. */
function secondsOf(took: string): number {
  return [...took.matchAll(/([\d.]+)(h|ms|m|s|µs)/g)]
    .reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit], 0);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
