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
const { send } = await installation.logIn();
/** The currency that the house pays with; its account holds the supply. */
const house = await send("POST", "/v1/currencies", { name: "POINTS", supply: "1000" });

say("1. An identity: the holder of what will be the customer's");
const identity = await send("POST", "/v1/identities", {
  type: "person",
  country: "HR",
  currency: "EUR",
});
const path = `/v1/identities/${identity.id}`;
show({ type: identity.type, country: identity.country, currency: identity.currency });

say("2. Its person: who the customer is, and how to reach her");
const { person } = await send("POST", `${path}/person`, ANA);
show({ isTheIdentitys: person.externalId === identity.id, ...person.contactInformation });

say("3. An account, of the identity's country and currency");
const { id } = await send("POST", "/v1/accounts", {
  type: "virtual",
  asset: "POINTS",
  holder: identity.id,
});
const account = await until(() => send("GET", `/v1/accounts/${id}`), (one) => one.enabled);
show({ asset: account.asset, country: account.country, balance: account.balance });

say("4. An alias, by which anyone can pay the account");
const alias = await send("POST", "/v1/aliases", { alias: "ana", type: "account", account: id });
show({ alias: alias.alias, type: alias.type });

say("5. A message to the person; with no provider it waits in the collection");
const content = { subject: "Welcome", text: "Your account is open, and 10 points are yours." };
const { messages: [message] } = await send("POST", `${path}/person/message/email`, { content });
show({ destination: message.destination, status: message.status.groupName });

say("6. A payment to the alias");
const payment = await send("POST", "/v1/transactions", {
  source: { account: house.account },
  destination: { alias: "ana" },
  value: "10",
  seal: { reason: "welcome" },
});
const { balance } = await send("GET", `/v1/accounts/${id}`);
show({ status: payment.status, amount: payment.amount, balance });

say("7. What the customer does is told to the customer-data platform");
const event = await send("POST", `${path}/person/event/welcomed`, {
  data: { properties: { points: 10 } },
});
show({ definitionId: event.definitionId, properties: event.properties });

say("8. All that is kept of the person, for the person");
const { person: whole, events, messages } = await send("GET", `${path}/person/export`);
show({ firstName: whole.firstName, events: events.length, messages: messages.length });

say("9. The person asks to be forgotten; the account stays, and the ledger names nobody");
const forgotten = await send("DELETE", `${path}/person`);
const [record] = await send("GET", "/v1/messages/all");
show({ person: forgotten.person, destination: record.destination });
