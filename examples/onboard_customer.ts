/**
 * A customer is taken in: an identity with a person, an account with an alias, a message, and a payment.
 *
 *     deno run -A --config tests/deno.json examples/onboard_customer.ts
 *
 * It starts an installation in a temporary folder, without a provider of messages, and removes it at the end. Its
 * output is checked in beside it as onboard_customer.txt.
 * @module
 */
import { say, show, startInstallation, until } from "./installation.ts";

const ANA = {
  firstName: "Ana",
  lastName: "Horvat",
  birthDate: "1990-02-28",
  tags: ["retail"],
  contactInformation: {
    phone: [{ number: "+385911234567" }],
    email: [{ address: "ana@horvat.example" }],
  },
};

await using installation = await startInstallation({});
const { purser } = await installation.logIn();
/** The currency that the house pays with; its account holds the supply. */
const house = await purser.post("/v1/currencies", { body: { name: "POINTS", supply: "1000" } });

say("1. An identity: the holder of what will be the customer's");
const identity = await purser.post("/v1/identities", {
  body: { type: "person", country: "HR", currency: "EUR" },
});
const path = { id: identity.id };
show({ type: identity.type, country: identity.country, currency: identity.currency });

say("2. Its person: who the customer is, and how to reach her");
const { person } = await purser.post("/v1/identities/{id}/person", { path, body: ANA });
show({ isTheIdentitys: person?.externalId === identity.id, ...person?.contactInformation });

say("3. An account, of the identity's country and currency");
const { id } = await purser.post("/v1/accounts", {
  body: { type: "virtual", asset: "POINTS", holder: identity.id },
});
const read = () => purser.get("/v1/accounts/{id}", { path: { id } });
const account = await until(read, ({ enabled }) => enabled);
show({ asset: account.asset, country: account.country, balance: account.balance });

say("4. An alias, by which anyone can pay the account");
const alias = await purser.post("/v1/aliases", {
  body: { alias: "ana", type: "account", account: id },
});
show({ alias: alias.alias, type: alias.type });

say("5. A message to the person; with no provider it waits in the collection");
const content = { subject: "Welcome", text: "Your account is open, and 10 points are yours." };
const { messages: [message] } = await purser.post("/v1/identities/{id}/person/message/email", {
  ...{ path, body: { content } },
});
show({ destination: message.destination, status: message.status.groupName });

say("6. A payment to the alias");
const payment = await purser.post("/v1/transactions", {
  body: {
    source: { account: `${house.account}` },
    destination: { alias: "ana" },
    value: "10",
    seal: { reason: "welcome" },
  },
});
show({ status: payment.status, amount: payment.amount, balance: (await read()).balance });

say("7. What the customer does is told to the customer-data platform");
const event = await purser.post("/v1/identities/{id}/person/event/{event}", {
  path: { ...path, event: "welcomed" },
  body: { data: { properties: { points: 10 } } },
});
show({ definitionId: event.definitionId, properties: event.properties });

say("8. All that is kept of the person, for the person");
const { person: whole, events, messages } = await purser.get("/v1/identities/{id}/person/export", {
  path,
});
show({ firstName: whole.firstName, events: events?.length, messages: messages.length });

say("9. The person asks to be forgotten; the account stays, and the ledger names nobody");
const forgotten = await purser.delete("/v1/identities/{id}/person", { path });
const [record] = await purser.get("/v1/messages/all");
show({ person: forgotten.person, destination: record.destination });
