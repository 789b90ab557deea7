/**
 * The same transfer as others do it, behind a bare HTTP server without keys, rights or validation:
 * - `transaction`: one serializable transaction of several statements per transfer, lost races repeated;
 * - `locks`: the same at read committed, with both rows locked first;
 * - `call`: one serializable call of the yardstick's function per transfer.
 *
 * Arguments: port, address of the database, schema, method.
 *
 * @module
 */
import postgres from "postgres";

/** A transfer as the load generators send it. */
interface Transfer {
  key: string;
  source: string;
  destination: string;
  amount: string;
}

const CONNECTIONS = 16;
const [port, url, schema, method] = Deno.args;
const isolation = method === "locks" ? "read committed" : "serializable";
const sql = postgres(url, {
  max: CONNECTIONS,
  fetch_types: false,
  connection: { search_path: schema, default_transaction_isolation: isolation },
});

/** Does a transfer, again for as long as it loses races. */
async function post(transfer: Transfer): Promise<string> {
  for (;;) {
    try {
      return method === "call" ? await call(transfer) : await transaction(transfer);
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== "40001" && code !== "40P01") throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    }
  }
}

async function call({ key, source, destination, amount }: Transfer): Promise<string> {
  const [{ id }] = await sql<{ id: string }[]>`
    select bench_one(md5(${key})::uuid, md5(${source})::uuid, uuidv7(), ${source}, ${destination},
      ${amount}, (select a.owner from accounts a where a.id = ${source})) as id`;
  return id;
}

async function transaction(transfer: Transfer): Promise<string> {
  const { key, source, destination, amount } = transfer;
  return await sql.begin(async (tx) => {
    const [{ id }] = await tx<{ id: string }[]>`select uuidv7() as id`;
    await tx`insert into idempotency (key, fingerprint, transaction, created_at)
      values (md5(${key})::uuid, md5(${source})::uuid, ${id}, now())`;
    const rows = await tx<{ id: string; total: string; seq: string; asset: string }[]>`
      select id, total, seq, asset from accounts where id in (${source}, ${destination})
      order by id for no key update`;
    const asset = rows[0].asset;
    const [from] = await tx<{ total: string; seq: string }[]>`
      update accounts set total = total - ${amount}, seq = seq + 1
      where id = ${source} and total - blocked >= ${amount} returning total, seq`;
    const [to] = await tx<{ total: string; seq: string }[]>`
      update accounts set total = total + ${amount}, seq = seq + 1
      where id = ${destination} returning total, seq`;
    await tx`insert into transactions (id, source, destination, source_seq, destination_seq, amount,
        type, testnet, asset, created_at)
      values (${id}, ${source}, ${destination}, ${from.seq}, ${to.seq}, ${amount}, 'transfer', false,
        ${asset}, now())`;
    await tx`insert into entries (account, seq, transaction, amount, balance, blocked)
      values (${source}, ${from.seq}, ${id}, -${amount}::numeric, ${from.total}, 0),
        (${destination}, ${to.seq}, ${id}, ${amount}, ${to.total}, 0)`;
    return id;
  }) as string;
}

Deno.serve({ port: Number(port), hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
  if (request.method === "GET") return new Response("ok");
  const body = await request.json();
  const id = await post({
    key: request.headers.get("idempotency-key")!,
    source: body.source.account,
    destination: body.destination.account,
    amount: body.value,
  });
  return Response.json({ id }, { status: 201 });
});
