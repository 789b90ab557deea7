/**
 * Plays a plan: all clients at once, each step a request, and everything that was answered noted.
 * @module
 */
import { allRoutes } from "../../routes/http/route_list.ts";
import { type Event, type Recorder, startRecorder } from "./linearizability.ts";
import type { Act, Call, Person, Seen, Transfer } from "./ledger_model_state.ts";
import type { Deed, Plan, PlannedMove, Step } from "./random_plan.ts";
import { type Fixture, otherName, type Scene } from "./fixture.ts";

/** A plan being played. */
interface Show {
  fixture: Fixture;
  scene: Scene;
  recorder: Recorder;
  /** Begins every key and reference, so that plans do not meet. */
  prefix: string;
  keys: number;
  /** Connections of queues are lost: they ask again by themselves, and may tell of it. */
  cut: boolean;
  /** All connections are lost: everything is asked under a key, again until it is answered. */
  stubborn: boolean;
}

/** By then everything is answered, also on a machine that has other things to do. */
const ANSWER_MS = 300_000;
/** The person of acts without a request. */
const SERVICE: Person = { id: "service", reads: true, writes: true };
const NOBODY = "00000000-0000-7000-8000-000000000000";
const ROUTES = new Set(allRoutes().map((one) => `${one.method} ${one.path}`));

/** Plays a plan to its end. */
export async function runPlan(
  fixture: Fixture,
  scene: Scene,
  plan: Plan,
): Promise<readonly Event[]> {
  const prefix = crypto.randomUUID().slice(0, 8);
  const cuts = plan.flat().flatMap(({ what }) => what.deed === "cut" ? [what.which] : []);
  const stubborn = cuts.includes("all");
  const cut = cuts.length > 0;
  const show: Show = { fixture, scene, recorder: startRecorder(), prefix, keys: 0, cut, stubborn };
  const clients = plan.map(async (steps, client) => {
    for (const step of steps) await take(show, client, step);
  });
  for (const client of await Promise.allSettled(clients)) {
    if (client.status === "rejected") throw client.reason;
  }
  return show.recorder.events();
}

async function take(show: Show, client: number, step: Step): Promise<void> {
  const { what } = step;
  if (what.deed === "seal") return await show.fixture.seal(); // on a connection that is not cut
  if (what.deed === "cut") {
    show.fixture.instances[what.instance].cut(what.which);
    return;
  }
  if (what.deed === "pass") return await show.fixture.clock.pass();
  if (what.deed === "expire") return await expire(show, client);
  if (what.deed === "again") return await repeat(show, client, step, what);
  const act = actOf(show, what);
  if (act === null) return;
  const by = show.fixture.players[step.person];
  const { how } = step;
  if (how === "dry" && canBeTried(act)) {
    return await perform(show, client, step.instance, { by, act, dry: true });
  }
  if (show.stubborn && act.kind === "release") return; // it takes no key
  if ((show.stubborn || how === "keyed" || how === "twice") && methodOf(act) === "POST") {
    const call = { by, act, key: `${show.prefix}-${++show.keys}` };
    const other = (step.instance + 1) % show.fixture.instances.length;
    const rival = how === "twice" ? [perform(show, client, other, call)] : [];
    await Promise.all([perform(show, client, step.instance, call), ...rival]);
    return;
  }
  await perform(show, client, step.instance, { by, act });
}

/** Closes what is over, as the timetable does; on a connection that is not cut. */
async function expire({ fixture, recorder }: Show, client: number): Promise<void> {
  const act = { kind: "expire" as const, age: fixture.clock.age() };
  await recorder.note(client, { by: SERVICE, act }, async () => {
    const { expired, age } = await fixture.expire();
    act.age = age;
    return { status: 200, body: { expired }, text: `${expired}`, replayed: false };
  });
}

/** Sends an earlier call again, or another one under its key. */
async function repeat(
  show: Show,
  client: number,
  step: Step,
  what: { call: number; other: boolean },
): Promise<void> {
  const keyed = show.recorder.events().filter(({ call }) => call.key !== undefined);
  if (keyed.length === 0) return;
  const { call } = keyed[what.call % keyed.length];
  if (!what.other) return await perform(show, client, step.instance, call);
  const [source, destination] = show.scene.accounts;
  const other = { source, destination, value: "0.7" };
  const act: Act = call.act.kind === "batch"
    ? { ...call.act, transactions: [...call.act.transactions, other] }
    : { kind: "transfer", ...other };
  await perform(show, client, step.instance, { ...call, act });
}

function actOf({ fixture, scene, recorder, prefix }: Show, what: Deed): Act | null {
  const at = (n: number) => scene.accounts[n] ?? NOBODY;
  const moveOf = (move: PlannedMove): Transfer => ({
    source: at(move.source),
    destination: at(move.destination),
    value: move.value,
    ...(move.named === undefined ? {} : { named: move.named }),
    ...(move.asset === undefined ? {} : { asset: scene.currencies[move.asset ? 0 : 1] }),
    ...(move.reference === undefined ? {} : { reference: `${prefix}-${move.reference}` }),
    ...(move.conditions === undefined ? {} : { conditions: move.conditions }),
  });
  switch (what.deed) {
    case "transfer":
      return { kind: "transfer", ...moveOf(what.move) };
    case "batch":
      return { kind: "batch", atomic: what.atomic, transactions: what.moves.map(moveOf) };
    case "block":
      return {
        kind: "block",
        account: at(what.account),
        amount: what.amount,
        ...(what.lasts === undefined ? {} : fixture.clock.after(what.lasts)),
      };
    case "release":
    case "capture": {
      const blocks = recorder.events().filter(({ call, seen }) =>
        call.act.kind === "block" && !call.dry && seen.status === 201
      );
      if (blocks.length === 0) return null;
      const each = [...new Map(blocks.map(({ seen: { body } }) => [body.id, body])).values()];
      const { account, id: block } = each.at(what.block % each.length);
      if (what.deed === "release") return { kind: "release", account, block };
      const { amount, named } = what;
      return { kind: "capture", account, block, destination: at(what.destination), named, amount };
    }
    case "revert": {
      const posted = postedIn(recorder.events());
      if (posted.length === 0) return null;
      return { kind: "revert", transaction: posted.at(what.transaction % posted.length)! };
    }
    case "issue":
    case "destroy": {
      const { account, amount } = what;
      const { currency, currencies: [asset] } = scene;
      return { kind: what.deed, currency, asset, account: at(account), amount };
    }
    case "again":
    case "cut":
    case "seal":
    case "pass":
    case "expire":
      return null;
    default:
      return { kind: what.deed, account: at(what.account) };
  }
}

/** The transactions that a history tells of, each once. */
export function postedIn(events: readonly Event[]): string[] {
  const ids = events.flatMap(({ call, seen }) => {
    if (call.dry || seen.status >= 300) return [];
    const { kind } = call.act;
    if (kind === "transfer" || kind === "capture" || kind === "revert") return [seen.body.id];
    if (kind === "issue" || kind === "destroy") {
      return seen.body.issuing.map((one: { reference: string }) => one.reference);
    }
    if (kind !== "batch") return [];
    return seen.body.results.flatMap((one: { status: unknown; id: string }) =>
      one.status === "DONE" ? [one.id] : []
    );
  });
  return [...new Set(ids)];
}

function canBeTried({ kind }: Act): boolean {
  return ["transfer", "batch", "block", "capture", "revert", "issue", "destroy"].includes(kind);
}

function methodOf({ kind }: Act): string {
  return kind === "read" ? "GET" : kind === "release" ? "DELETE" : "POST";
}

async function perform(show: Show, client: number, instance: number, call: Call): Promise<void> {
  const { fixture, recorder } = show;
  const { key } = fixture.players.find(({ id }) => id === call.by.id)!;
  const [route, path, body] = requestOf(show.scene, call.act);
  const method = methodOf(call.act);
  if (!ROUTES.has(`${method} ${route}`)) return;
  const query = call.dry ? "?dry_run=true" : "";
  const seen = await recorder.note(client, call, async (): Promise<Seen> => {
    const { send } = fixture.instances[instance];
    const sentAt = fixture.clock.age();
    for (;;) {
      const answer = send(key, method, path + query, body, call.key);
      const answered = await within(ANSWER_MS, answer, `${method} ${path}`);
      const seen: Seen = { ...answered, ages: [sentAt, fixture.clock.ageAtMost()] };
      // Without its connection the service cannot tell whether it was done. A key makes it sure.
      const repeatable = call.key !== undefined || call.dry || method === "GET";
      if (seen.status !== 503 || !show.stubborn || !repeatable) {
        if (!show.cut) return seen;
        return { ...seen, replayed: seen.replayed && call.key !== undefined, repeated: true };
      }
    }
  });
  if (seen.status >= 500) throw new Error(`${method} ${path}: ${seen.status} ${seen.text}`);
}

/** Gives what comes in time. @throws {Error} when it does not: a request is always answered */
async function within<T>(ms: number, coming: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} was not answered`)), ms);
  try {
    return await Promise.race([coming, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The route, the path and the body of an act. */
function requestOf(scene: Scene, act: Act): [string, string, unknown] {
  switch (act.kind) {
    case "transfer":
      return ["/v1/transactions", "/v1/transactions", bodyOf(scene, act)];
    case "batch": {
      const { atomic, transactions } = act;
      const path = "/v1/transactions/batch";
      return [path, path, { atomic, transactions: transactions.map((one) => bodyOf(scene, one)) }];
    }
    case "revert":
      return ["/v1/transactions/{id}/revert", `/v1/transactions/${act.transaction}/revert`, {}];
    case "issue":
    case "destroy": {
      const { account, amount } = act;
      const path = `/v1/currencies/${act.currency}/${act.kind}`;
      return [`/v1/currencies/{id}/${act.kind}`, path, { account, amount }];
    }
    case "expire":
      throw new TypeError("nobody asks for that");
    default:
      return requestOfAccount(scene, act);
  }
}

function requestOfAccount(
  scene: Scene,
  act: Extract<Act, { account: string }>,
): [string, string, unknown] {
  const path = `/v1/accounts/${act.account}`;
  switch (act.kind) {
    case "block": {
      const { amount, expires_at } = act;
      return ["/v1/accounts/{id}/blocks", `${path}/blocks`, { amount, expires_at }];
    }
    case "release":
      return ["/v1/accounts/{id}/blocks/{block}", `${path}/blocks/${act.block}`, undefined];
    case "capture": {
      const { destination, named, amount } = act;
      return [
        "/v1/accounts/{id}/blocks/{block}/capture",
        `${path}/blocks/${act.block}/capture`,
        { destination: partyOf(scene, destination, named?.destination), amount },
      ];
    }
    case "read":
      return ["/v1/accounts/{id}", path, undefined];
    default:
      return [`/v1/accounts/{id}/${act.kind}`, `${path}/${act.kind}`, undefined];
  }
}

function bodyOf(scene: Scene, transfer: Transfer): unknown {
  const { source, destination, named, value, asset, reference, conditions } = transfer;
  return {
    source: partyOf(scene, source, named?.source),
    destination: partyOf(scene, destination, named?.destination),
    value,
    asset,
    reference,
    conditions,
  };
}

/** Names an account as it is to be named; other names of nobody are nobody's. */
function partyOf(
  { accounts, prefix }: Scene,
  account: string,
  how: "account" | "alias" | "address" = "account",
): Record<string, string> {
  return { [how]: how === "account" ? account : otherName(prefix, how, accounts.indexOf(account)) };
}
