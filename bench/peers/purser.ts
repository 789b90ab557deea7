/** This service, as users start it. @module */
import { makeRealm, startDefault } from "../stand.ts";
import { ask, resume, some, type Subject, type SubjectOptions } from "./subjects.ts";

/** Starts the service with its default settings, workers and log of requests included. */
export async function startPurser(options: SubjectOptions): Promise<Subject> {
  const { stand, generator } = options;
  await using begun = new AsyncDisposableStack();
  const service = begun.adopt(await startDefault(stand, options.folder), (one) => one.stop());
  const realm = await makeRealm(stand, service, { name: "peers", accounts: options.accounts });
  const kept = begun.move();
  const subject: Subject = {
    pids: [service.pid],
    run: (load) => generator.run(service.port, realm, { ...load, many: 1 }),
    clean: () => Promise.resolve(),
    async bytes() {
      const [{ n }] = await stand.sql<{ n: string }[]>`
        select sum(pg_total_relation_size(oid)) as n from pg_class
        where relnamespace = ${realm.schema}::regnamespace and relkind = 'r'`;
      return Number(n);
    },
    balances: () =>
      some(realm.accounts, async (id) => {
        const account = await ask(`${service.url}/v1/accounts/${id}`, { "x-api-key": realm.key });
        return BigInt(account.balance.total);
      }),
    async [Symbol.asyncDispose]() {
      await resume(subject);
      await kept.disposeAsync();
    },
  };
  return subject;
}
