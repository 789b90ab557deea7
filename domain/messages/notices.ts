/** E-mails that the service writes by itself, to people about what was done in their name. @module */
import type { Tx } from "../../db/database.ts";
import { selectCustomerOf, type UserRow } from "../../db/identity/users.ts";
import { countNotices, countNoticesAt, type NoticeKind } from "../../db/messages/messages.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { idBound, isId } from "../ids.ts";
import { formatIp, parseIp } from "../ip_addresses.ts";
import type { WrongCodes } from "../security/second_factors.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import { type OutgoingMessage, queueNotices } from "./messages.ts";
import { checkAddress } from "./recipients.ts";

/** A notice, and what encrypts it at rest. */
export interface Notice {
  kind: NoticeKind;
  subject: string;
  text: string;
  secrets: Secrets;
}

/**
 * A user has so many notices of a changed address, and of its password and second factor, in so long before the next change
 * is not told of: addresses are taken unproven, and nobody has the service write to strangers without end. Other notices
 * count apart: whoever has taken over a login could else use them up first, or try codes before.
 */
const OF_CHANGES = { max: 2, ms: 10 * 60_000 };
/** The same of wrong codes, whose count begins anew with another second factor. */
const OF_CODES = { max: 3, ms: 24 * 60 * 60_000 };
/**
 * An address has so many notices of a kind in a day about all users of a customer together: it may have given many of them a
 * stranger's. Where all customers have caused many, each of them has few: none uses up those of another, who may be the one
 * whose address it is. Those about the customer itself are counted apart: whoever has its key would have others' sent first.
 * Of those that a customer has made each has a few more, together with all users below it, so that one does not use up the
 * notices of another; of all a customer has `most`, and `ofCustomer` where all customers have caused many.
 */
const OF_ADDRESS = { ofCustomer: 10, ofAll: 50, ofEach: 3, ofMade: 2, most: 30, ms: 86_400_000 };

/**
 * Mails the address that a user has changed itself: whoever has taken over a login would have all later notices.
 *
 * @param before the user before the change
 */
export async function tellFormerAddress(
  tx: Tx,
  actor: Actor,
  { before, secrets }: { before: Pick<UserRow, "id" | "email">; secrets: Secrets },
): Promise<void> {
  if (actor.kind !== "user" || actor.user !== before.id) return;
  await tell(tx, actor, before, {
    kind: "address",
    subject: "Your e-mail address was changed or removed",
    text: `The user ${before.id} changed or removed this e-mail address of its own` +
      `${inRequest(actor)}. Later notices do not come here. If you do not know of it: change the ` +
      `password, which ends all logins, then end machine keys and webhooks that are not yours, ` +
      `or ask an administrator to.`,
    secrets,
  });
}

/** A change of a user's password or second factor. */
export type SecurityChange = "password" | "totp begun" | "totp ended";

/** What is told of each. */
const SECURITY_CHANGES: Readonly<Record<SecurityChange, { subject: string; what: string }>> = {
  "password": { subject: "Your password was changed", what: "password was changed" },
  "totp begun": {
    subject: "One-time passwords were begun",
    what: "logins take one-time passwords now",
  },
  "totp ended": { subject: "One-time passwords were ended", what: "one-time passwords were ended" },
};

/**
 * Mails a user whose password or second factor was changed, by itself or by another: whoever else did it logs in from then on.
 *
 * @param user the user before the change
 */
export async function tellSecurityChange(
  tx: Tx,
  actor: Actor,
  { user, change, secrets }: {
    user: Pick<UserRow, "id" | "email">;
    change: SecurityChange;
    secrets: Secrets;
  },
): Promise<void> {
  const { subject, what } = SECURITY_CHANGES[change];
  const isOwn = actor.kind === "user" && actor.user === user.id;
  await tell(tx, actor, user, {
    kind: "security",
    subject,
    text: `Of the user ${user.id}: ${what}, by ${isOwn ? "a login of its own" : "another user"}` +
      `${inRequest(actor)}. If you do not know of it: change the password, which ends all ` +
      `logins, then end machine keys and webhooks that are not yours, or ask an administrator to.`,
    secrets,
  });
}

/** Where codes are not looked at, until a time. */
const HELD: Readonly<Record<WrongCodes["held"], string>> = {
  nowhere: "",
  elsewhere: "from networks where you have not logged in within 30 days",
  everywhere: "from anywhere",
};

/**
 * Mails a user that somebody who has its password tries codes: nothing else shows it to the user, whose own logins go on.
 *
 * @param actor the login that tried the last of them
 */
export async function tellWrongCodes(
  tx: Tx,
  actor: Actor,
  { user, wrong: { count, held, until }, secrets }: {
    user: Pick<UserRow, "id" | "email">;
    wrong: WrongCodes;
    secrets: Secrets;
  },
): Promise<void> {
  const from = `${fromAddress(actor)}${inRequest(actor)}`;
  const rest = held === "nowhere" ? "" : ` Until ${new Date(until).toISOString()} no code of the ` +
    `authenticator is looked at ${HELD[held]}; recovery codes are taken.`;
  await tell(tx, actor, user, {
    kind: "codes",
    subject: "Wrong one-time codes came with your password",
    text: `Of the user ${user.id}: ${count} logins within 24 hours had the right password and a ` +
      `wrong code, the last of them${from}. They were refused. If they were not yours, somebody ` +
      `else has the password, and the second factor keeps them out: change the password.${rest}`,
    secrets,
  }, OF_CODES);
}

/** Mails a user, unless it has had enough notices of the kind lately. */
async function tell(
  tx: Tx,
  actor: Actor,
  { id, email }: Pick<UserRow, "id" | "email">,
  notice: Notice,
  { max, ms } = OF_CHANGES,
): Promise<void> {
  if (email === null) return;
  const after = idBound(actor.at - ms);
  if (await countNotices(tx, { owner: id, kind: notice.kind, after }) >= max) return;
  if (await hasEnough(tx, actor, { id, email }, notice.kind)) return;
  await mailAll(tx, actor, [{ id, email }], notice);
}

/** Whether an address has had enough notices of a kind about users of the customer that a user belongs to; those of the house have no bound. */
export async function hasEnough(
  tx: Tx,
  { at }: Pick<Actor, "at">,
  { id, email }: { id: string; email: string },
  kind: NoticeKind,
): Promise<boolean> {
  const customer = await selectCustomerOf(tx, id);
  if (customer === null) return false;
  const { ofCustomer, ofAll, ofEach, ofMade, most, ms } = OF_ADDRESS;
  const of = { destination: email, kind, since: at - ms, user: id, customer, most: 1000 };
  const { own, branch, all } = await countNoticesAt(tx, of);
  const [shared, inAll] = all < ofAll ? [ofCustomer, most] : [ofEach, ofCustomer];
  return own >= shared && (branch === null || branch >= ofMade || own >= inAll);
}

/**
 * Names the request of a notice. An id that its caller has chosen is left out unless it is like ours: an address of a
 * page would be in it, in an e-mail of ours to somebody else.
 */
export function inRequest({ requestId }: Pick<Actor, "requestId">): string {
  return isId(requestId) ? ` in the request ${requestId}` : "";
}

/** Names the network address of a request, where it is one: what else stands there is not put into an e-mail. */
function fromAddress({ address }: Pick<Actor, "address">): string {
  const ip = address === null ? null : parseIp(address);
  return ip === null ? "" : ` from the network address ${formatIp(ip)}`;
}

/** Mails people; those who cannot be reached are left out. */
export async function mailAll(
  tx: Tx,
  actor: Actor,
  people: readonly { id: string; email: string }[],
  { kind, subject, text, secrets }: Notice,
): Promise<void> {
  const message = { channel: "email", content: { subject, text } } as const;
  const messages: OutgoingMessage[] = [];
  for (const { id, email } of people) {
    const destination = await addressOf(email);
    if (destination === null) continue;
    messages.push({ message, to: { destination, user: id }, secrets, owner: id });
  }
  await queueNotices(tx, actor, messages, kind);
}

async function addressOf(email: string): Promise<string | null> {
  try {
    return await checkAddress("email", email);
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}
