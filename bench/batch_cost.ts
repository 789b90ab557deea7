/**
 * What a batch of the posting queue costs PostgreSQL before its first transfer, and what each transfer in it adds:
 * the processor time of one session that posts batches of several sizes in turns, with nothing beside it.
 * @module
 */
import postgres from "postgres";
import {
  positionsOf,
  QUEUED_CALL,
  queuedParameters,
  SINGLE_CALL,
  singleParameters,
} from "../db/ledger/posting_protocol.ts";
import type { Field } from "./measure.ts";
import { median } from "./processes.ts";
import { verdictOf } from "./report.ts";

/** Sizes of batches; a batch of one is posted by the procedure of single transfers. */
const SIZES = [1, 2, 4, 16, 64, 128];
const ROUNDS = 9;
/** Transfers of a size in a round; at most so many batches. */
const TRANSFERS = 512;
const BATCHES_MAX = 64;
const FIXED_MAX_US = 500;
const EACH_MAX_US = 35;

/** Posts batches of all sizes in turns and prints what they took; whether the must figures are reached is part of it. */
export async function benchBatches({ stand, realm }: Pick<Field, "stand" | "realm">) {
  const sql = postgres(stand.server.superuserUrl, {
    max: 1,
    onnotice: () => {},
    connection: { search_path: realm.schema },
  });
  try {
    const [{ pid }] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const post = async (size: number) =>
      await sql.unsafe(...callOf(size, realm), { prepare: true });
    for (const size of SIZES) for (let i = 0; i < 12; i++) await post(size); // its plans are made
    const found = SIZES.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, size] of SIZES.entries()) {
        const batches = Math.min(BATCHES_MAX, TRANSFERS / size);
        const before = await ranFor(pid);
        for (let n = 0; n < batches; n++) await post(size);
        found[i].push((await ranFor(pid) - before) / batches);
      }
    }
    print(found.map(median));
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The statement of a batch between random accounts, with its parameters. */
function callOf(
  size: number,
  { accounts, admin }: Field["realm"],
): [string, (string | null)[]] {
  const moves = Array.from({ length: size }, () => {
    const source = Math.floor(Math.random() * accounts.length);
    const step = 1 + Math.floor(Math.random() * (accounts.length - 1));
    return {
      ...{ actor: admin, mayMoveAny: true, clientIp: "127.0.0.1", apiKey: null },
      ...{ source: accounts[source], destination: accounts[(source + step) % accounts.length] },
      ...{ amount: "1", seal: null, data: null, reference: null, extras: null },
      ...{ key: crypto.randomUUID(), fingerprint: crypto.randomUUID() },
    };
  });
  const tail = crypto.randomUUID().slice(-12);
  const single = singleParameters(moves, tail);
  return single !== null
    ? [SINGLE_CALL, single]
    : [QUEUED_CALL, queuedParameters(moves, tail, positionsOf(moves))];
}

/** Microseconds that a process has run on a processor, to the nanosecond. */
async function ranFor(pid: number): Promise<number> {
  return Number((await Deno.readTextFile(`/proc/${pid}/schedstat`)).split(" ")[0]) / 1000;
}

function print(costs: readonly number[]): void {
  const many = SIZES.map((size, i) => ({ size, cost: costs[i] })).filter(({ size }) => size > 1);
  const of = (pick: (one: { size: number; cost: number }) => number) =>
    many.reduce((sum, one) => sum + pick(one), 0) / many.length;
  const [size, cost] = [of((one) => one.size), of((one) => one.cost)];
  const each = of((one) => (one.size - size) * (one.cost - cost)) /
    of((one) => (one.size - size) ** 2);
  const fixed = cost - each * size;
  const last = costs[costs.length - 1] / SIZES[SIZES.length - 1];
  const line = SIZES.map((size, i) => `${size}: ${Math.round(costs[i])}`).join(", ");
  console.log(
    `a batch in PostgreSQL: ${Math.round(fixed)} us and ${each.toFixed(1)} us a transfer (must ` +
      `${FIXED_MAX_US}) ${verdictOf(fixed < FIXED_MAX_US) ?? ""}; a transfer in one of 128: ` +
      `${last.toFixed(1)} us (must ${EACH_MAX_US}) ${verdictOf(last < EACH_MAX_US) ?? ""}\n` +
      `  us of the posting session by size: ${line}`,
  );
}
