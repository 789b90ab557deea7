/**
 * The feed of a realm's events to the streams of this process. One query at a time serves all
 * streams: the newest events are kept in memory, and a stream that is behind reads its own pages.
 * @module
 */
import { type Pool, runQuery } from "../../domain/command.ts";
import { type EventRow, lastEvent, readEvents } from "../../domain/webhooks/event_log.ts";

/** The events of a realm, for streams. */
export interface EventFeed {
  /** The id of the newest event. */
  head(): Promise<string>;
  /** Events after one of them, in their order; of those that there are, the first ones. */
  after(id: string): Promise<readonly EventRow[]>;
  /** Waits until there are newer events, or so many milliseconds. */
  changed(id: string, ms: number): Promise<void>;
  /** Ends the use of the feed, and the wait if there is one. */
  leave(): void;
}

interface State {
  streams: number;
  isPolling: boolean;
  /** The newest events, all those after `from`. */
  recent: EventRow[];
  from: string;
  last: string;
  waiting: Set<() => void>;
  /** Ends the pause between two polls. */
  resume: () => void;
}

const POLL_MS = 200;
const RECENT_MAX = 500;
/** Characters of payload that are kept in memory for a realm. */
const RECENT_CHARS = 1_000_000;
const PAGE = 200;

const feeds = new WeakMap<Pool, State>();

/** Begins to use the feed of a realm. */
export function openEventFeed(pool: Pool): EventFeed {
  const state = feeds.get(pool) ?? newState();
  feeds.set(pool, state);
  state.streams++;
  let [isLeft, wake] = [false, () => {}];
  return {
    head: () => runQuery(pool, lastEvent),
    async after(id) {
      if (state.from !== "" && id >= state.from) {
        return state.recent.filter((row) => row.id > id).slice(0, PAGE);
      }
      return await runQuery(pool, (db) => readEvents(db, id, PAGE));
    },
    async changed(id, ms) {
      if (state.last > id || isLeft) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      wake = resolve;
      state.waiting.add(resolve);
      if (!state.isPolling) poll(pool, state).catch(() => {});
      await promise;
      clearTimeout(timer);
      state.waiting.delete(resolve);
    },
    leave() {
      isLeft = true;
      wake();
      if (--state.streams > 0) return;
      state.resume();
      if (feeds.get(pool) === state) feeds.delete(pool);
    },
  };
}

function newState(): State {
  return {
    ...{ streams: 0, isPolling: false, recent: [], from: "", last: "", waiting: new Set() },
    resume: () => {},
  };
}

/** Polls while streams wait; a poll that fails is repeated. */
async function poll(pool: Pool, state: State): Promise<void> {
  state.isPolling = true;
  while (state.waiting.size > 0) {
    await refresh(pool, state).catch(() => {});
    if (state.waiting.size > 0 && state.streams > 0) await pauseOf(state);
  }
  state.isPolling = false;
}

/** Waits between two polls, or until the last stream has left. */
function pauseOf(state: State): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, POLL_MS);
    state.resume = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

async function refresh(pool: Pool, state: State): Promise<void> {
  const last = await runQuery(pool, lastEvent);
  if (state.from === "") Object.assign(state, { from: last, last });
  else if (state.last === last) return;
  while (state.last < last) {
    const rows = await runQuery(pool, (db) => readEvents(db, state.last, PAGE));
    if (rows.length === 0) break;
    state.recent.push(...rows);
    state.last = rows.at(-1)!.id;
    const beyond = beyondOf(state.recent);
    if (beyond > 0) state.from = state.recent.splice(0, beyond).at(-1)!.id;
  }
  for (const wake of state.waiting) wake();
}

/** How many of the events, from the oldest on, are more than is kept. */
function beyondOf(recent: readonly EventRow[]): number {
  let [kept, chars] = [0, 0];
  for (const { payload } of recent.toReversed()) {
    chars += payload.length;
    if (kept === RECENT_MAX || chars > RECENT_CHARS) break;
    kept++;
  }
  return recent.length - kept;
}
