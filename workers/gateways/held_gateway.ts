/**
 * Providers that refuse our settings. A wrong key is refused with every message: after a few refusals
 * in a row a provider is asked once a minute, until it takes one. So a provider does not lock the
 * account, and messages wait instead of being given up.
 * @module
 */
import type { MessageGateway } from "../worker_context.ts";
import { GatewayError } from "./outbound.ts";

/** Refusals in a row: a single one may be about its message, whatever its status says. */
const STREAK = 3;
const HELD_MS = 60_000;

/** A provider that may be held. */
export interface HeldGateway extends MessageGateway {
  /** Whether it is asked once a minute alone. */
  isHeld(): boolean;
}

/** Asks a provider as long as it does not refuse our settings. */
export function holding(gateway: MessageGateway, now: () => number): HeldGateway {
  let refused = 0;
  let nextAt = 0;
  let reason = "";
  const isHeld = () => refused >= STREAK;
  return {
    isHeld,
    async send(message, signal) {
      if (isHeld()) {
        if (now() < nextAt) throw new GatewayError(reason, "settings");
        nextAt = now() + HELD_MS; // this one asks, the others wait for its answer
      }
      try {
        const handover = await gateway.send(message, signal);
        refused = 0;
        return handover;
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== "settings") {
          // A refusal of the message alone shows that the settings are taken.
          if (error instanceof GatewayError && error.kind === "refused") refused = 0;
          throw error;
        }
        refused++;
        nextAt = now() + HELD_MS;
        reason = error.message;
        throw error;
      }
    },
  };
}
