/** Reports of nodes that contradict each other, kept for ten minutes. @module */

/** Reports that are kept, and for how many milliseconds. */
const REPORTS_MAX = 20;
const REPORTED_MS = 600_000;

/** Opens an empty list of reports; `recent` gives them, the newest first. */
export function openReports(): { report(what: string): void; recent(): string[] } {
  const reports = new Map<string, number>();
  function recent(): string[] {
    for (const [what, until] of reports) if (until < performance.now()) reports.delete(what);
    return [...reports.keys()].toReversed();
  }
  return {
    recent,
    report(what) {
      const oldest = recent().at(-1);
      // The newest are kept: a node that causes many reports hides none that come later.
      if (!reports.has(what) && reports.size >= REPORTS_MAX) reports.delete(oldest!);
      reports.set(what, performance.now() + REPORTED_MS);
    },
  };
}
