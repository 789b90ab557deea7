/** Draws a table of transitions as a state diagram in Mermaid, for comparison with the docs. @module */

/** Transitions by the state that they leave, then by the state that they enter, with a label. */
export type Transitions = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;

/** Draws a state machine. A state that nothing follows is an end. */
export function stateDiagram(begins: Readonly<Record<string, string>>, table: Transitions): string {
  const lines = Object.entries(begins).map(([to, label]) => `[*] --> ${to}: ${label}`);
  for (const [from, later] of Object.entries(table)) {
    const entries = Object.entries(later);
    for (const [to, label] of entries) lines.push(`${from} --> ${to}: ${label}`);
    if (entries.length === 0) lines.push(`${from} --> [*]`);
  }
  return ["stateDiagram-v2", ...lines.map((line) => `    ${line}`)].join("\n");
}

/** Reads the first state diagram of a page; null if it has none. */
export function stateDiagramIn(page: string): string | null {
  return stateDiagramsIn(page)[0] ?? null;
}

/** Reads all state diagrams of a page. */
export function stateDiagramsIn(page: string): string[] {
  return [...page.matchAll(/```mermaid\n(stateDiagram-v2\n[^`]*?)\n```/g)].map(([, text]) => text);
}
