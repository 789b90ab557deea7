/** How requests of others end, by operation. @module */
import type { AnyRoute } from "../../routes/http/route.ts";

/** Codes of refusals. A caller that is missing may do the same as the rightful one, or does it to what is its own. */
export interface Outcomes {
  /** Role user, scope realm: sees everything, writes its own. */
  readonly reader?: string;
  /** Role manage, scope realm: writes everything. */
  readonly manager?: string;
  /** Role admin, scope own: has every right over its own, and sees nothing else. */
  readonly outsider?: string;
}

const OWNER = "permission.owner";
const ROLE = "permission.role";
const SCOPE = "permission.scope";
const HIDDEN = "not_found";

/** The rule: who sees it may not do it, and for the other it does not exist. */
const OTHERS: Outcomes = { reader: OWNER, outsider: HIDDEN };
/** The role itself has no such right, not even over its own. */
const OF_ROLE: Outcomes = { reader: ROLE, outsider: HIDDEN };
/** Who sees it may do it. */
const SEEN: Outcomes = { outsider: HIDDEN };
/** A user does it to itself alone. */
const PERSONAL: Outcomes = { reader: OWNER, manager: OWNER, outsider: HIDDEN };
/** A user does it to itself, administrators of the realm to everyone. */
const GUARDED: Outcomes = { reader: ROLE, manager: ROLE, outsider: HIDDEN };
const MANAGERS: Outcomes = { reader: ROLE, outsider: SCOPE };
const ADMINISTRATORS: Outcomes = { reader: ROLE, manager: ROLE, outsider: SCOPE };
const OPERATOR = "auth.invalid";
const OPERATORS: Outcomes = { reader: OPERATOR, manager: OPERATOR, outsider: OPERATOR };
const NOBODY: Outcomes = { reader: HIDDEN, manager: HIDDEN, outsider: HIDDEN };
/** Makes or ends what is the caller's own, and names nothing of others. */
const ANYONE: Outcomes = {};

/** Operations to which the rule does not apply; one that is new and is not here obeys it. */
const EXCEPTIONS: Readonly<Record<string, Outcomes>> = {
  logOut: ANYONE,
  endOtherLogins: ANYONE,
  createApiKey: ANYONE,
  createIdentity: ANYONE,
  createCompany: ANYONE,
  createCurrency: ANYONE,
  createWebhook: ANYONE,
  sendSmsToAnyone: ANYONE,
  sendWhatsAppToAnyone: ANYONE,
  sendEmailToAnyone: ANYONE,
  sendSmsToUser: SEEN,
  sendWhatsAppToUser: SEEN,
  sendEmailToUser: SEEN,
  sendSmsToPerson: SEEN,
  sendWhatsAppToPerson: SEEN,
  sendEmailToPerson: SEEN,
  estimateWithdrawal: SEEN,
  endOwnLogin: NOBODY,
  changePassword: PERSONAL,
  beginTotp: PERSONAL,
  confirmTotp: PERSONAL,
  endUserLogin: GUARDED,
  endUserLogins: GUARDED,
  deleteApiKey: GUARDED,
  deleteUser: OF_ROLE,
  // The walk does these to another realm.
  updateRealm: NOBODY,
  createRealmUser: NOBODY,
  syncPersons: MANAGERS,
  createStop: MANAGERS,
  createNote: MANAGERS,
  liftStop: ADMINISTRATORS,
  setRate: ADMINISTRATORS,
  rescanDeposits: ADMINISTRATORS,
  createCover: ADMINISTRATORS,
  createWriteOff: ADMINISTRATORS,
  retryJob: ADMINISTRATORS,
  discardJob: ADMINISTRATORS,
};

/** How it ends where the body names what is another's. */
const NAMING: Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => Outcomes>> = {
  createAccount({ type, ramp, holder, owner }) {
    if (holder !== undefined || owner !== undefined) return { reader: ROLE, outsider: SCOPE };
    if (type === "deposit") return OTHERS;
    return ramp === undefined ? ANYONE : SEEN;
  },
  createUser: ({ identity }) => ({
    ...{ reader: ROLE, manager: ROLE },
    ...(identity === undefined ? {} : { outsider: HIDDEN }),
  }),
  createPersonIdentity: ({ company }) => company === undefined ? ANYONE : SEEN,
};

/** How it ends where the path names the caller's own, and the rest of the path, or the body, what is another's. */
const TWINS: Readonly<Record<string, Outcomes>> = {
  updateRealm: ADMINISTRATORS,
  createRealmUser: ADMINISTRATORS,
  endUserLogin: { reader: HIDDEN },
  assignPerson: { reader: OWNER },
  releaseBlock: { reader: HIDDEN },
  captureBlock: { reader: HIDDEN },
  destroyCurrency: { reader: OWNER },
  depositFromRamp: { reader: OWNER },
  withdrawToRamp: { reader: OWNER },
  resolveRampTransfer: { reader: HIDDEN },
  resendDelivery: { reader: HIDDEN },
};

/** How requests of others end. */
export function expectedFor({ access }: AnyRoute, operation: string, body: unknown): Outcomes {
  if (access === "platform") return OPERATORS;
  if (operation.startsWith("undelete")) return OF_ROLE;
  const { [operation]: naming } = NAMING;
  if (naming !== undefined) return naming(body as Readonly<Record<string, unknown>>);
  return EXCEPTIONS[operation] ?? OTHERS;
}

/** How requests end whose path names the caller's own; nobody's do where the rest names nothing of others. */
export function expectedForTwin(operation: string, body: unknown): Outcomes {
  if (operation === "destroyCurrency" && !("account" in (body as object))) return ANYONE;
  return TWINS[operation] ?? ANYONE;
}
