import { Buffer } from "node:buffer";
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { DomainError } from "../../domain/errors.ts";
import { MANY, parseJson } from "../../domain/json.ts";
import { parseLongJson } from "../../domain/long_json.ts";
import { breathe, encodeLong, inSlices } from "../../domain/slices.ts";
import {
  moveParameters,
  outcomesOf,
  positionsOf,
  readOutcomes,
  writeMoves,
} from "../../db/ledger/posting_protocol.ts";
import { BatchOutline, NewBatch } from "../../domain/ledger/batches.ts";
import { NewTransaction } from "../../domain/ledger/transactions.ts";
import { readBody, readLong } from "../../routes/http/validation.ts";
import { fc } from "../support/properties.ts";

const ACCOUNTS = Array.from({ length: 20 }, () => crypto.randomUUID());

/** A batch as large as one may be, and half as long as it may be. */
function batchOf(count: number): string {
  const transactions = Array.from({ length: count }, (_, i) => ({
    source: { account: ACCOUNTS[i % 20] },
    destination: { account: ACCOUNTS[(i + 1) % 20] },
    value: "1.5",
    reference: `r${i}`,
    data: { text: `"quoted" and \n ended ${i}`, more: [1, 2, { a: [] }] },
    seal: { i },
  }));
  return JSON.stringify({ atomic: true, transactions });
}

/** Requests that a server of this process answers before `work` has ended, one after the other. */
async function answeredDuring<T>(work: () => Promise<T>): Promise<{ result: T; answered: number }> {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("ok"),
  );
  const ask = async () => await (await fetch(`http://127.0.0.1:${server.addr.port}/`)).text();
  await ask(); // the connection is there
  let answered = 0, isDone = false;
  const asking = (async () => {
    while (!isDone) {
      await ask();
      if (!isDone) answered++;
    }
  })();
  const result = await work();
  isDone = true;
  await asking;
  return { result, answered };
}

Deno.test("a batch of ten thousand is read, checked, written and answered in slices: others are answered between", async () => {
  const text = batchOf(10_000);
  const long = { outline: BatchOutline, list: "transactions", item: NewTransaction };
  const read = await answeredDuring(() => readLong(text, long));
  ok(read.answered > 0, "while it was read and checked");
  deepEqual(read.result, NewBatch.parse(parseJson(text, MANY)));
  const moves = (read.result as NewBatch).transactions.map((one) => ({
    source: one.source.account!,
    destination: one.destination.account!,
    amount: one.value,
    actor: null,
    mayMoveAny: false,
    clientIp: null,
    apiKey: null,
    seal: JSON.stringify(one.seal),
    data: JSON.stringify(one.data),
    reference: one.reference!,
    extras: null,
  }));
  const written = await answeredDuring(() => writeMoves(moves));
  ok(written.answered > 0, "while it was written");
  const { positions, columns } = written.result;
  deepEqual(columns, moveParameters(moves, positions));
  const many = { ...written.result, moves: Array.from({ length: 10 }, () => moves).flat() };
  many.positions = positionsOf(many.moves); // so many that they take more than a slice on any machine
  const row = {
    refusals: null,
    source_total: `{${many.moves.map((_, i) => i).join()}}`,
    destination_total: `{${many.moves.map((_, i) => i).join()}}`,
    blocked: `{${ACCOUNTS.map(() => 0).join()}}`,
    fiat_rate: null,
    fiat_value: null,
    stamp: "0".repeat(28),
  };
  const told = await answeredDuring(() => readOutcomes(many, row));
  ok(told.answered > 0, "while its outcomes were read");
  deepEqual(told.result, outcomesOf(many.moves, many.positions, row));
});

/** Turns of the event loop that others had before `work` had ended. */
async function turnsDuring<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0, isDone = false;
  const taking = (async () => {
    while (!isDone) {
      await new Promise((resolve) => setTimeout(resolve));
      turns++;
    }
  })();
  const result = await work();
  isDone = true;
  await taking;
  return { result, turns };
}

Deno.test("megabytes are decoded and encoded in slices, between letters and never within one", async () => {
  const text = "a" + "€𝄞".repeat(400_000); // each slice ends within a letter
  const encoded = await turnsDuring(() => encodeLong(text));
  ok(encoded.turns > 2, "while it was encoded");
  const bytes = new TextEncoder().encode(text);
  equal(Buffer.compare(encoded.result, bytes), 0);
  const headers = { "content-type": "application/json", "content-length": `${bytes.length}` };
  const ask = (body: Uint8Array<ArrayBuffer>) =>
    readBody(new Request("http://a", { method: "POST", body, headers }), bytes.length);
  const decoded = await turnsDuring(() => ask(bytes));
  ok(decoded.result === text && decoded.turns > 5, "while it was decoded");
  await rejects(ask(bytes.slice(0, -1)), { code: "request.malformed" });
});

/** The result of a reader, or the code of its refusal. */
async function outcomeOf(read: () => unknown): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DomainError) return { refused: error.code };
    throw error;
  }
}

Deno.test("a long body is read as a short one is, wherever it is cut", async () => {
  const filler = "x".repeat(70_000); // each item is a part of its own
  const item = fc.oneof(fc.jsonValue(), fc.constant(filler), fc.constant({ a: [filler, "]}"] }));
  const list = fc.array(item, { maxLength: 6 });
  const body = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.oneof(list, fc.jsonValue()));
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const text = JSON.stringify({ first: [filler, 1.5, filler], ...given, last: "1e-7" });
      // Some of what is made at random is refused, such as a name or a sign that no text may hold.
      deepEqual(
        await outcomeOf(() => parseLongJson(text, MANY)),
        await outcomeOf(() => parseJson(text, MANY)),
      );
    }),
    { numRuns: 30 },
  );
  const exact = `{"a":["${filler}",1.10,12345678901234567890,"${filler}",-0]}`;
  equal(JSON.stringify(await parseLongJson(exact, MANY)), exact);
});

Deno.test("a long body is refused for the same faults as a short one, wherever it is cut", async () => {
  const filler = `"${"x".repeat(70_000)}"`;
  const refused = async (text: string, code: string) =>
    await rejects(parseLongJson(text, MANY), { code }, `${text.slice(0, 20)}…${text.slice(-20)}`);
  await refused(`{"a":[${filler},1],"a":[${filler},2,${filler}]}`, "request.invalid");
  await refused(`{"a":[${filler},1,{"b":1,"b":2}]}`, "request.invalid");
  for (
    const end of [
      ...["", ",", "]", "}", ",]}", ",,1]}", "],", "}}", "]]", "]}]", "]}}", ",1]", ",1}]", "]} 1"],
      ...["],[2]}", "]:1}", ',"a":1]}', `,{]}]}`, `,[1}]}`, `,}]}`, `,1 2]}`, `],"b"}`],
    ]
  ) {
    await refused(`{"a":[${filler},${filler}${end}`, "request.malformed");
    await refused(`{"a":[1,${filler}${end}`, "request.malformed");
  }
  await refused(`{"a":[,${filler},1]}`, "request.malformed");
  await refused(`{"a":[${filler},,${filler}]}`, "request.malformed");
  await refused(`{"a":[x,${filler},1],"b":[${filler},1]}`, "request.malformed");
  await refused(`{"a":[${filler},"\\u0000"]}`, "request.invalid");
  await refused(`{"a":[${filler},{"__proto__":1}]}`, "request.invalid");
  await refused(`{"a":[${filler},${"[".repeat(63)}${"]".repeat(63)}]}`, "request.invalid");
  await parseLongJson(`{"a":[${filler},${"[".repeat(62)}${"]".repeat(62)}]}`, MANY);
  await refused(`{"a":[${filler},${"1,".repeat(40_000)}1]}`, "request.invalid");
  const parts = Array(30).fill(`{"b":[${"1,".repeat(20_000)}1]}`);
  await refused(`{"a":[${parts.join()}]}`, "request.invalid"); // 600 000 in all
  await refused(`{"a":[${filler},"${"x".repeat(1_200_000)}",1]}`, "request.too_large");
  await refused(`{"a":"${"x".repeat(1_200_000)}"}`, "request.too_large");
});

/** What a clock that stands still showed last: the clock of slices never goes back. */
let stoodAt = 0;

/** A clock that stands still but for `toil`, however long the machine stops this process. */
function useStillClock(): Disposable & { toil(): void } {
  let now = Math.max(performance.now(), stoodAt) + 1000; // long after the slice before
  const descriptor = Object.getOwnPropertyDescriptor(performance, "now");
  Object.defineProperty(performance, "now", { value: () => now, configurable: true });
  return {
    toil: () => now += 0.5, // ten of them are more than a slice
    [Symbol.dispose]() {
      stoodAt = now;
      if (descriptor) Object.defineProperty(performance, "now", descriptor);
      else Reflect.deleteProperty(performance, "now");
    },
  };
}

Deno.test("however many do long work, one slice of it runs at a time", async () => {
  using clock = useStillClock();
  const many = Array.from({ length: 100 }, (_, i) => i);
  const order: string[] = [];
  const work = (name: string) =>
    inSlices(many, (i) => {
      if (order.at(-1) !== name) order.push(name);
      clock.toil();
      return i;
    });
  const turns = (async () => {
    for (let i = 0; i < 3; i++) {
      await breathe();
      order.push("another");
    }
  })();
  const [first, second] = await Promise.all([work("first"), work("second"), turns]);
  deepEqual([first, second], [many, many]);
  const due = ["first", "another", "first", "second", "another", "first", "second", "another"];
  deepEqual(order.slice(0, due.length), due);
});

Deno.test("short work one after the other is one slice, as long as it has time", async () => {
  using clock = useStillClock();
  /** Whether others had a turn before `work` had ended. */
  const pauses = async (work: () => Promise<unknown>) => {
    let hasTurned = false;
    const timer = setTimeout(() => hasTurned = true);
    await work();
    clearTimeout(timer);
    return hasTurned;
  };
  const few = Array.from({ length: 1000 }, (_, i) => i);
  const thrice = async (items: number[], work: (n: number) => unknown) => {
    for (let i = 0; i < 3; i++) await inSlices(items, work);
  };
  equal(await pauses(() => thrice(few, (n) => n)), false);
  equal(await pauses(() => thrice(few.slice(0, 11), clock.toil)), true);
});
