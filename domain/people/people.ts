/** The customer-data platform of an installation, as each of its realms has it. @module */
import { DomainError } from "../errors.ts";
import type { PeopleProvider } from "./provider.ts";

/** The customer-data platform of an installation. */
export interface People {
  /** The platform of a realm; null where the realm has none. */
  of(realm: string): Promise<PeopleProvider | null>;
}

/** Makes the refusal where a realm has no customer-data platform. */
export function noPlatform(): DomainError {
  return new DomainError("extension.disabled", "this realm has no customer-data platform");
}
