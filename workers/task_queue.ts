/** A line: so many work side by side, the others wait, and whoever is not done goes to its end. @module */

/** Who works and who waits. */
export interface Line {
  busy: number;
  waiting: (() => void)[];
}

const SIDE_BY_SIDE = 4;

/** Makes an empty line. */
export function openLine(): Line {
  return { busy: 0, waiting: [] };
}

/** Does a piece of work again and again, until it says that nothing is left; each time in its turn. */
export async function inTurns(line: Line, work: () => Promise<boolean>): Promise<void> {
  for (let more = true; more;) {
    if (line.busy < SIDE_BY_SIDE) line.busy++;
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    try {
      more = await work();
    } finally {
      const next = line.waiting.shift();
      if (next === undefined) line.busy--;
      else next();
    }
  }
}
