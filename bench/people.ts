/**
 * Persons in numbers: the synchronisation and the lists of a realm with a thousand persons beside
 * one with a hundred thousand, over HTTP, and the memory of the process meanwhile.
 * `deno task bench --only=people [--persons=100000]`.
 *
 * @module
 */
import { openProfileCipher } from "../domain/people/profile_cipher.ts";
import { newIds } from "../domain/ids.ts";
import { openSecrets } from "../domain/security/serving_secrets.ts";
import { median } from "./processes.ts";
import {
  type BenchRealm,
  makeRealm,
  removeStand,
  send,
  type Service,
  settingsOf,
  type Stand,
  startService,
  startStand,
} from "./stand.ts";

const SMALL = 1000;
/** Persons that one statement adds. */
const AT_ONCE = 5000;
const ROUNDS = 9;

/** What is asked of a list. */
const LISTS = [
  ["the first page of 100", "limit=100"],
  ["one person by e-mail", "email=p500@persons.bench"],
  ["one by last name (reads all)", "lastName=Name500"],
  ["a tag that few have (reads all)", "tags=few"],
] as const;

/** What one realm took. */
interface Figures {
  persons: number;
  /** Of the synchronisation. */
  seconds: number;
  /** Peak of the process while it ran, beyond what it had before, in MiB. */
  grown: number;
  /** Milliseconds, by list. */
  lists: number[];
}

/** Measures and prints it. */
export async function benchPeople(persons: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const stand = await startStand(folder);
  const service = await startService(stand, {
    workers: true,
    env: { INSTALLATION_EPOCH: "bench" },
  });
  try {
    const found: Figures[] = [];
    for (const count of [SMALL, persons]) {
      const realm = await makeRealm(stand, service, { name: `persons${count}`, accounts: 1 });
      await fill(stand, realm, count);
      found.push(await measure(service, realm, count));
    }
    print(found);
  } finally {
    await service.stop();
    await removeStand(stand, folder);
  }
}

/** Adds persons that no identity has, each with a number and an address, encrypted as the service does. */
async function fill(stand: Stand, realm: BenchRealm, count: number): Promise<void> {
  const secrets = openSecrets(settingsOf(stand).PLATFORM_KEY);
  await stand.sql.begin(async (tx) => {
    await tx.unsafe(`set local search_path to ${realm.schema}`);
    const at = Date.now();
    const cipher = await openProfileCipher(tx as never, secrets, { realm: realm.id, at });
    const { ids } = newIds(at, count);
    for (let from = 0; from < count; from += AT_ONCE) {
      const rows = ids.slice(from, from + AT_ONCE).map((id, i) => {
        const address = `p${from + i}@persons.bench`;
        const contactInformation = {
          phone: [{ number: `38591${from + i}` }],
          email: [{ address }],
        };
        const contact = cipher.encrypt(id, { address: "Ilica 1", contactInformation }).toHex();
        const digest = cipher.digest("email", address).toHex();
        return { id, n: from + i, contact, digest };
      });
      const text = JSON.stringify(rows);
      await tx`
        insert into persons (id, last_name, city, tags, contact, origin, modified_from, owner, created_at)
        select r.id, 'Name' || r.n, 'Zagreb', case when r.n % 1000 = 0 then '{few}' else '{}' end::text[],
          decode(r.contact, 'hex'), 'API', 'API', ${realm.admin}, now()
        from json_to_recordset(${text}::text::json) r(id uuid, n int, contact text)`;
      await tx`
        insert into person_contacts (channel, digest, person)
        select 'email', decode(r.digest, 'hex'), r.id
        from json_to_recordset(${text}::text::json) r(id uuid, digest text)`;
    }
  });
  await stand.sql.unsafe(`vacuum analyze ${realm.schema}.persons`);
  await stand.sql.unsafe(`vacuum analyze ${realm.schema}.person_contacts`);
}

async function measure(service: Service, realm: BenchRealm, persons: number): Promise<Figures> {
  const before = await residentMiB(service.pid);
  const start = performance.now();
  const path = "/v1/identities/persons/sync";
  await send(service, realm.key, path, {});
  let peak = before;
  for (;;) {
    const [sync] = await get(service, realm, path);
    peak = Math.max(peak, await residentMiB(service.pid));
    if (sync.state === "failed") throw new Error(JSON.stringify(sync));
    if (sync.state === "done") {
      if (sync.created !== persons) throw new Error(`${sync.created} of ${persons} were created`);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const seconds = (performance.now() - start) / 1000;
  const lists: number[] = [];
  for (const [, query] of LISTS) {
    const times: number[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const begun = performance.now();
      await get(service, realm, `/v1/identities/persons?${query}`);
      times.push(performance.now() - begun);
    }
    lists.push(median(times));
  }
  return { persons, seconds, grown: peak - before, lists };
}

// Answers of the API are looked into freely here.
// deno-lint-ignore no-explicit-any
async function get(service: Service, { key }: BenchRealm, path: string): Promise<any> {
  const response = await fetch(service.url + path, { headers: { "x-api-key": key } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function residentMiB(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(text)![1]) / 1024;
}

function print([small, large]: Figures[]): void {
  const line = (name: string, a: number, b: number, digits = 1) =>
    console.log(
      `| ${name} | ${a.toFixed(digits)} | ${b.toFixed(digits)} | ${(b / a).toFixed(2)} |`,
    );
  console.log(`| | ${small.persons} persons | ${large.persons} persons | ratio |`);
  console.log("|---|--:|--:|--:|");
  line("synchronisation, s", small.seconds, large.seconds);
  const each = ({ seconds, persons }: Figures) => seconds / persons * 1e6;
  line("of it for each person, us", each(small), each(large));
  line("memory that it added at its peak, MiB", small.grown, large.grown, 0);
  for (const [i, [name]] of LISTS.entries()) line(`${name}, ms`, small.lists[i], large.lists[i]);
}
