/** Requests whose bodies name what another user may not name, and what its owner may not do; they are no examples. @module */
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

/** Walks through what managers do to an account and its owner does not take back. */
export async function walkHeld({ ask, gold, others }: World): Promise<void> {
  const { accounts: id } = others.own;
  const held = { path: { id }, aside: true } as const;
  const alike = { ...held, attempted: true } as const; // its owner may do it as well
  await ask("freezeAccount", alike);
  await ask("unfreezeAccount", held);
  const destination = { account: id };
  await ask("createTransaction", {
    body: { source: { account: gold.account }, destination, value: "5" },
    aside: true,
  });
  const opened = async () => (await ask("createBlock", { ...alike, body: { amount: "2" } })).id;
  await ask("releaseBlock", { path: { id, block: await opened() }, aside: true });
  await ask("captureBlock", {
    path: { id, block: await opened() },
    body: { destination: { account: gold.account } },
    aside: true,
  });
}
