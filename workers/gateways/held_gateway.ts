/**
 * Providers that refuse our settings. A wrong key is refused with every message: after a few refusals
 * in a row a provider is asked once a minute, until it takes one. So a provider does not lock the
 * account, and messages wait instead of being given up.
 *
 * What a provider calls a matter of the account may be one of the messages of one realm: a sender that
 * a country does not take, a price above the credits. So refusals are counted for each realm, and hold
 * that realm alone; only two realms, with nothing taken from anybody since, hold all of them. Then one
 * message a minute asks for realms that were refused, and another one for those that were not.
 * @module
 */
import type { MessageGateway } from "../worker_context.ts";
import { GatewayError } from "./outbound.ts";

/** Refusals in a row: a single one may be about its message, whatever its status says. */
const STREAK = 3;
const HELD_MS = 60_000;
/** Realms that see refusals, and none a message taken, before all are held. */
const REALMS = 2;

/** A provider that may be held. */
export interface HeldGateway extends MessageGateway {
  /** Whether it is asked once a minute alone, for a realm. */
  isHeld(realm: string): boolean;
}

/** When the provider is asked the next time. */
interface Turn {
  nextAt: number;
}

/** The refusals in a row of a realm's messages. */
interface Refused extends Turn {
  count: number;
}

/** Asks a provider as long as it does not refuse our settings. */
export function holding(gateway: MessageGateway, now: () => number): HeldGateway {
  const refusals = new Map<string, Refused>();
  // Held realms with a refusal after the last message that the provider took from any realm.
  const held = new Set<string>();
  const turns = { refused: { nextAt: 0 }, others: { nextAt: 0 } };
  let reason = "";

  /** The turn that a realm's message has to wait for; null: it is asked at once. */
  function turnOf(realm: string): Turn | null {
    const own = refusals.get(realm);
    if (held.size >= REALMS) return own === undefined ? turns.others : turns.refused;
    return own !== undefined && own.count >= STREAK ? own : null;
  }

  function noteTaken(realm: string): void {
    refusals.delete(realm);
    held.clear();
  }

  function noteRefused(realm: string, why: string): void {
    const own = refusals.get(realm) ?? { count: 0, nextAt: 0 };
    refusals.set(realm, own);
    const nextAt = now() + HELD_MS;
    Object.assign(own, { count: own.count + 1, nextAt });
    reason = why;
    if (own.count < STREAK) return;
    held.add(realm);
    turns.refused.nextAt = nextAt;
  }

  return {
    isHeld: (realm) => turnOf(realm) !== null,
    async send(message, signal) {
      const turn = turnOf(message.realm);
      if (turn !== null) {
        if (now() < turn.nextAt) throw new GatewayError(reason, "settings");
        turn.nextAt = now() + HELD_MS; // this one asks, the others wait for its answer
      }
      try {
        const handover = await gateway.send(message, signal);
        noteTaken(message.realm);
        return handover;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (error.kind === "settings") noteRefused(message.realm, error.message);
        // A refusal of the message alone shows that the settings are taken.
        if (error.kind === "refused") noteTaken(message.realm);
        throw error;
      }
    },
  };
}
