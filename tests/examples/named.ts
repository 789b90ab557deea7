/** Requests whose bodies name what another user may not name; they are no examples. @module */
import type { World } from "./world.ts";

/** Walks through bodies that name what is the caller's. */
export async function walkNamed(world: World): Promise<void> {
  const { ask, exchange: { funded }, gold, realm: { admin } } = world;
  const aside = true;
  const make = async (operation: string, body: unknown) =>
    (await ask(operation, { body, aside })).id;
  const virtual = { type: "virtual", asset: gold.name };
  await make("createAccount", { ...virtual, holder: admin.identity });
  await make("createAccount", { ...virtual, owner: admin.id });
  await make("createAccount", { type: "deposit", asset: "ETH", ramp: funded.ramp });
  const identity = await make("createIdentity", {});
  await make("createAlias", { alias: "desk-9", type: "identity", identity });
  await make("createUser", {
    ...{ username: "ina", password: world.password, roles: "user", scopes: "own" },
    identity,
  });
  const company = await make("createCompany", { name: "Named GmbH" });
  const { person } = await ask("createPersonIdentity", {
    body: { company, person: { firstName: "Una" } },
    aside,
  });
  await world.others.settlePerson();
  await ask("assignPerson", { path: { id: identity, person: `${person.id}` }, aside });
  const payer = await world.account("10");
  await make("createAlias", { alias: "till-9", type: "account", account: payer });
  const source = { alias: "till-9" };
  await make("createTransaction", { source, destination: { account: gold.account }, value: "1" });
  const amount = { account: payer, amount: "1" };
  for (const operation of ["issueCurrency", "destroyCurrency"]) {
    await ask(operation, { path: { id: gold.id }, body: amount, aside });
  }
}
