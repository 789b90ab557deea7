/** The routes as the types of calls: what each takes, and what it answers. @module */
import type { paths, webhooks } from "./schema.ts";

/** Methods of calls. */
export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths that have a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [N in M]: unknown } ? P : never;
}[keyof paths];

/** An operation of the document. */
export type Operation<P, M extends Method> = P extends keyof paths ? paths[P][M] : never;

/** What a call takes: the parameters and the body of its operation, and a signal that ends it. */
export type Input<O> = O extends unknown ?
    & Parameter<O, "path">
    & Parameter<O, "query">
    & Parameter<O, "header">
    & Body<O>
    & { readonly signal?: AbortSignal }
  : never;

/** The last argument of a call; it may be left out where nothing in it is required. */
export type InputOf<O> = Record<never, never> extends Input<O> ? [input?: Input<O>]
  : [input: Input<O>];

type Parameter<O, K extends "path" | "query" | "header"> = O extends { parameters: infer Q }
  ? Member<K, K extends keyof Q ? Q[K] : undefined>
  : Record<never, never>;

type Body<O> = O extends { requestBody: { content: { "application/json": infer J } } }
  ? { readonly body: J }
  : O extends { requestBody?: { content: { "application/json": infer J } } }
    ? { readonly body?: unknown extends J ? undefined : J }
  : Record<never, never>;

/** A member that is left out, may be left out, or must be there. */
type Member<K extends string, V> = [Exclude<V, undefined>] extends [never]
  ? { readonly [N in K]?: undefined }
  : undefined extends V ? { readonly [N in K]?: V }
  : Record<never, never> extends V ? { readonly [N in K]?: V }
  : { readonly [N in K]: V };

/** What an operation answers as JSON, where it has that, and where `fields` may have chosen parts. */
export type Answer<O> = O extends { responses: infer R } ? {
    [S in keyof R]: R[S] extends { content: infer C }
      ? C extends { "application/json": infer J } ? J : C[keyof C]
      : never;
  }[keyof R]
  : never;

/** What an operation answers where no `fields` were asked for: whole entities. */
export type WholeAnswer<O> = Whole<Answer<O>>;

type Whole<T> = [T] extends [readonly (infer E)[]] ? WholeOf<E>[]
  : [T] extends [{ rows: readonly (infer E)[] }] ? Omit<T, "rows"> & { rows: WholeOf<E>[] }
  : WholeOf<T>;

/** A union without what has no required member, which are the parts that `fields` choose. */
type WholeOf<E> = [Entire<E>] extends [never] ? E : Entire<E>;
type Entire<E> = E extends object ? (Record<never, never> extends E ? never : E) : E;

/** Paths of lists, whose answer is an array or a page. */
export type ListPath = {
  [P in PathOf<"get">]: Exclude<Answer<Operation<P, "get">>, string> extends
    readonly unknown[] | { rows: readonly unknown[] } ? P : never;
}[PathOf<"get">];

/** An item of a list. */
export type Item<A> = A extends readonly (infer E)[] ? E
  : A extends { rows: readonly (infer E)[] } ? E
  : never;

/** Types of events. */
export type EventType = keyof webhooks;

/** The data of an event: the entity, or its id where the whole exceeds 20 kB. */
export type EventData<T extends EventType> = webhooks[T] extends {
  post: { requestBody: { content: { "application/json": { data: infer D } } } };
} ? D
  : never;

/** An event as the stream and the list show it; decide by `type`. */
export type PurserEvent<T extends EventType = EventType> = {
  [N in T]: {
    readonly id: string;
    readonly type: N;
    /** When it happened (ISO 8601). */
    readonly timestamp: string;
    /** The entity that it is about. */
    readonly entity: string;
    readonly data: EventData<N>;
    readonly owner: string | null;
    /** Milliseconds since the epoch. */
    readonly created_at: number;
  };
}[T];

/** An event as a webhook delivers it. */
export type WebhookEvent<T extends EventType = EventType> = {
  [N in T]: {
    /** The same in every attempt: drop what you have had. */
    readonly id: string;
    readonly type: N;
    readonly timestamp: string;
    readonly data: EventData<N>;
  };
}[T];
