/** CSV (RFC 4180), as spreadsheets may open it. @module */

/** Writes a line. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

/**
 * Quotes a text where needed, and keeps spreadsheets from reading a caller's text as a formula.
 */
export function csvText(text: string): string {
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Writes a time in milliseconds since the epoch. */
export function csvTime(ms: number): string {
  return new Date(ms).toISOString();
}
