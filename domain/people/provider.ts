/**
 * The customer-data platform behind one interface: profiles in the realm's own tables, or at a
 * provider over HTTP. Each call is in two parts. The first may wait for the provider and runs outside
 * of any transaction; it gives the second, which completes the work in the caller's transaction.
 * @module
 */
import type { Db, Tx } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import type { Company, CompanyChange, NewCompany } from "./company_fields.ts";
import type { Person, PersonChange, PersonFields } from "./person_fields.ts";

/** Work that is completed in a transaction. */
export type Prepared<T> = (tx: Tx) => Promise<T>;
/** A read that is completed over a connection. */
export type PreparedRead<T> = (db: Db) => Promise<T>;

/** The part of a list that is asked for, with the filters of the platform. */
export interface ProfileQuery {
  /** Values by the names of fields. */
  filters: Readonly<Record<string, string>>;
  /** A condition in the platform's own language; null without. */
  filter: unknown;
  limit: number;
  /** From 1. */
  page: number;
}

/** A custom event of a person. */
export interface PersonEvent {
  definitionId: string;
  personId: string;
  personIdentifierType: "ID";
  /** When it happened, as ISO 8601. */
  occurredTime: string;
  properties: Record<string, unknown>;
}

/** A request for a custom event. */
export interface NewPersonEvent {
  /** The same for a repeat of the same request. */
  id: string;
  person: string;
  definition: string;
  properties: Record<string, unknown>;
}

/** A part of a person's custom events. */
export interface EventsPart {
  events: PersonEvent[];
  /** Where the next part begins; null after the last. */
  next: string | null;
}

/** One page of all persons, for synchronisation. */
export interface PersonBatch {
  persons: Pick<Person, "id" | "externalId">[];
  /** Where the next page begins; null after the last. */
  next: string | null;
}

/** Which persons a synchronisation reads. */
export interface BatchQuery {
  filter: unknown;
  /** Rows of the page. */
  limit: number;
  /** Where it begins; null at the beginning. */
  cursor: string | null;
}

/** Persons of a platform. */
export interface PersonsProvider {
  list(actor: Actor, query: ProfileQuery): Promise<PreparedRead<Person[]>>;
  /** Reads persons by their ids; those that do not exist are left out. */
  read(actor: Actor, ids: readonly string[]): Promise<PreparedRead<Map<string, Person>>>;
  /** @throws {DomainError} person.taken, upstream.* */
  create(
    actor: Actor,
    input: { identity: string; fields: PersonFields },
  ): Promise<Prepared<Person>>;
  /** @throws {DomainError} person.not_found, person.taken, upstream.* */
  change(actor: Actor, id: string, change: PersonChange): Promise<Prepared<Person>>;
  /** Says whose profile a person is; null: of no identity. @throws {DomainError} person.not_found */
  link(actor: Actor, id: string, identity: string | null): Promise<Prepared<void>>;
  /** Says whose profiles persons are, many at a time. */
  linkMany(
    actor: Actor,
    links: readonly { person: string; identity: string }[],
  ): Promise<Prepared<void>>;
  remove(actor: Actor, id: string): Promise<Prepared<void>>;
  recordEvent(actor: Actor, event: NewPersonEvent): Promise<Prepared<PersonEvent>>;
  /** A part of the custom events, the latest first; null where the platform does not give them back. */
  events(actor: Actor, id: string, before: string | null): Promise<PreparedRead<EventsPart | null>>;
  /** The user whose person it is while no identity has it; null where the platform knows none. */
  ownerOf(id: string): PreparedRead<string | null>;
  batch(actor: Actor, query: BatchQuery): Promise<PreparedRead<PersonBatch>>;
}

/** Companies of a platform. */
export interface CompaniesProvider {
  list(actor: Actor, query: ProfileQuery): Promise<PreparedRead<Company[]>>;
  read(actor: Actor, ids: readonly number[]): Promise<PreparedRead<Map<number, Company>>>;
  /** @throws {DomainError} company.taken, upstream.* */
  create(actor: Actor, input: NewCompany): Promise<Prepared<Company>>;
  /** @throws {DomainError} company.not_found, company.taken, upstream.* */
  change(actor: Actor, id: number, change: CompanyChange): Promise<Prepared<Company>>;
  /** Whether there was one. */
  remove(actor: Actor, id: number): Promise<Prepared<boolean>>;
  /** The user that it belongs to; null where the platform knows none. */
  ownerOf(id: number): PreparedRead<string | null>;
  /** Asks a remote platform whether it has a company; null where {@link ownerOf} tells it. @throws {DomainError} upstream.* */
  readonly exists: ((id: number) => Promise<boolean>) | null;
}

/** A customer-data platform. */
export interface PeopleProvider {
  readonly name: "local" | "infobip";
  /** Whether first parts wait for a network. */
  readonly remote: boolean;
  readonly persons: PersonsProvider;
  readonly companies: CompaniesProvider;
}
