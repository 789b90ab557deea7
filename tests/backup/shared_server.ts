/**
 * A second PostgreSQL server that the tests of a process share: to make one takes a second of a processor. It is
 * started before the first test of a process that imports this. A test that stops its server has one of its own
 * (`otherServer()`).
 *
 * @module
 */
import { type OtherServer, otherServer } from "./servers.ts";

/** What tests may ask of a server that others use too. */
export type SharedServer = Pick<OtherServer, "url" | "env" | "database">;

let started: OtherServer;

Deno.test.beforeAll(async () => {
  started = await otherServer();
});

Deno.test.afterAll(async () => await started[Symbol.asyncDispose]());

/** The server, while tests run. */
export const server: SharedServer = {
  get url() {
    return started.url;
  },
  get env() {
    return started.env;
  },
  database: () => started.database(),
};
