/**
 * Histories: what several clients asked at the same time and what they were answered, and the search
 * for an order of these calls that explains every answer. An order must respect time: a call that was
 * answered before another was sent comes first.
 *
 * @module
 */
import { explain } from "./ledger_model.ts";
import type { Call, Ledger, Seen } from "./ledger_model_state.ts";

/** A call with its answer, and when it was sent and answered on the history's own clock. */
export interface Event {
  call: Call;
  seen: Seen;
  from: number;
  to: number;
  /** Which client sent it. */
  client: number;
}

/** A clock that ticks with every call and every answer, and what it saw. */
export interface Recorder {
  /** Sends a call and notes when it was sent, answered, and how. */
  note(client: number, call: Call, send: () => Promise<Seen>): Promise<Seen>;
  events(): readonly Event[];
}

/** How a search ended. */
export type Verdict =
  | { order: readonly Event[]; ledger: Ledger }
  /** The longest order that explains its calls, the state it leaves, and who could come next. */
  | { order: null; longest: readonly Event[]; ledger: Ledger; stuck: readonly Event[] };

/** Steps that a search may take: a history of these tests takes a few hundred. */
const STEPS_MAX = 200_000;

/** Starts a history. */
export function startRecorder(): Recorder {
  const events: Event[] = [];
  let clock = 0;
  return {
    async note(client, call, send) {
      const from = ++clock;
      const seen = await send();
      events.push({ call, seen, from, to: ++clock, client });
      return seen;
    },
    events: () => events,
  };
}

/**
 * Searches for an order of the calls in which every answer is right.
 *
 * @throws {Error} when it takes too long to tell
 */
export function linearize(start: Ledger, history: readonly Event[]): Verdict {
  const events = history.toSorted((a, b) => a.to - b.to);
  const done = new Array<boolean>(events.length).fill(false);
  const order: Event[] = [];
  const dead = new Set<string>();
  let longest: { order: readonly Event[]; ledger: Ledger; stuck: readonly Event[] } = {
    order: [],
    ledger: start,
    stuck: events,
  };
  let steps = 0;

  function search(ledger: Ledger): Ledger | null {
    if (order.length === events.length) return ledger;
    const open = eligible(events, done);
    if (order.length >= longest.order.length) {
      longest = { order: [...order], ledger, stuck: open.map((i) => events[i]) };
    }
    const here = `${done.map((is) => is ? 1 : 0).join("")} ${fingerprint(ledger)}`;
    if (dead.has(here)) return null;
    for (const i of open) {
      if (++steps > STEPS_MAX) throw new Error("the search for an order takes too long");
      const next = explain(ledger, events[i].call, events[i].seen);
      if (next === null) continue;
      done[i] = true;
      order.push(events[i]);
      const end = search(next);
      if (end !== null) return end;
      order.pop();
      done[i] = false;
    }
    dead.add(here);
    return null;
  }

  const ledger = search(start);
  if (ledger !== null) return { order, ledger };
  return { order: null, longest: longest.order, ledger: longest.ledger, stuck: longest.stuck };
}

/** The calls that could come next: sent before any open one was answered. */
function eligible(events: readonly Event[], done: readonly boolean[]): number[] {
  let first = Infinity;
  const found: number[] = [];
  for (let i = 0; i < events.length; i++) {
    if (done[i]) continue;
    first = Math.min(first, events[i].to);
    if (events[i].from < first) found.push(i);
  }
  return found;
}

/** The part of a state that can differ between orders of the same calls. */
function fingerprint(ledger: Ledger): string {
  const accounts = [...ledger.accounts.values()].map((one) =>
    `${one.total}/${one.blocked}/${one.frozen}/${one.frozenByRealm}/${one.active}`
  );
  const open = [...ledger.blocks].flatMap(([id, one]) => one.open ? [id] : []).sort();
  const reverted = [...ledger.moves].flatMap(([id, one]) => one.reverted ? [id] : []).sort();
  const references = [...ledger.references].sort();
  return JSON.stringify([accounts, open, reverted, references, [...ledger.kept.keys()].sort()]);
}

/** Says for people why no order explains a history. */
export function report(verdict: Verdict & { order: null }): string {
  const { longest, ledger, stuck } = verdict;
  const accounts = [...ledger.accounts].map(([id, one]) =>
    `  ${id} ${one.asset} total ${one.total} blocked ${one.blocked}` +
    `${one.frozen ? " frozen" : ""}${one.active ? "" : " inactive"}`
  );
  return [
    "no order of the calls explains all answers; the longest that explains its own:",
    ...longest.map(line),
    "and then the accounts stand so (in units of 10^-18):",
    ...accounts,
    "but one of these must come next:",
    ...stuck.map(line),
  ].join("\n");
}

function line({ call, seen, from, to, client }: Event): string {
  const marks = [call.key && `key ${call.key}`, call.dry && "dry", seen.replayed && "replayed"];
  return `  [${from}-${to}] client ${client} as ${call.by.id.slice(-6)} ` +
    `${JSON.stringify(call.act)} ${marks.filter(Boolean).join(" ")}` +
    ` -> ${seen.status} ${seen.text.slice(0, 600)}`;
}
