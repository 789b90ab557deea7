/**
 * Traces: spans of requests, jobs and statements, sent by the runtime's OpenTelemetry exporter where
 * `OTEL_DENO` is on. Spans hold names of routes, jobs and tables, never values.
 *
 * The runtime's own spans hold whole URLs, and so what callers search for and the keys of nodes. They are left
 * out: the sampler must begin no trace by itself (`parentbased_always_off`) and take none from headers
 * (`OTEL_PROPAGATORS=none`), and spans of this module are never the runtime's current ones, of which its own would
 * be children.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Context, Span, SpanKind, Tracer } from "@opentelemetry/api";

/** Settings of the runtime that keep its own spans, with their URLs, from being exported. */
export const RUNTIME_TRACES: Readonly<Record<string, string>> = {
  OTEL_TRACES_SAMPLER: "parentbased_always_off",
  OTEL_PROPAGATORS: "none",
};

/** What a span can be begun with. */
export interface SpanOptions {
  attributes?: Attributes;
  /** Where the work came from: a caller, a queue, or this process. */
  kind?: "server" | "consumer" | "internal";
  /** The trace that it goes on with, as W3C's `traceparent` writes it; without it a new one. */
  traceparent?: string | null;
}

interface Tracing {
  readonly tracer: Tracer;
  /** The share of new traces that are recorded, from 0 to 1. */
  readonly share: number;
  readonly kinds: typeof SpanKind;
  readonly failed: number;
  /** A context with a span that another process, or nobody, has exported. */
  under(traceId: string, spanId: string): Context;
  of(span: Span): Context;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const current = new AsyncLocalStorage<Span>();
let tracing: Tracing | null = null;

/** Whether the runtime's environment asks for traces. */
export function asksForTraces(env: Readonly<Record<string, string | undefined>>): boolean {
  return ["1", "true"].includes(env.OTEL_DENO ?? "") && env.OTEL_SDK_DISABLED !== "true";
}

/**
 * Says what an environment lacks that asks for traces; empty where nothing secret would be exported.
 *
 * @returns one text for each setting
 */
export function traceFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  if (!asksForTraces(env)) return [];
  const share = Number(env.OTEL_TRACES_SAMPLER_ARG ?? "1");
  return [
    ...Object.entries(RUNTIME_TRACES)
      .filter(([name, value]) => env[name] !== value)
      .map(([name, value]) =>
        `${name} must be ${value} where OTEL_DENO is on: URLs with keys would be exported`
      ),
    ...(share >= 0 && share <= 1 ? [] : ["OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1"]),
  ];
}

/**
 * Turns traces on.
 *
 * @param share the share of new traces that are recorded, from 0 to 1
 */
export async function openTracing(share: number): Promise<void> {
  const { ROOT_CONTEXT, SpanKind: kinds, SpanStatusCode, trace } = await import(
    "@opentelemetry/api"
  );
  tracing = {
    tracer: trace.getTracer("purser"),
    share,
    kinds,
    failed: SpanStatusCode.ERROR,
    under: (traceId, spanId) =>
      trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true }),
    of: (span) => trace.setSpan(ROOT_CONTEXT, span),
  };
}

/** Whether traces are on. */
export function isTracing(): boolean {
  return tracing !== null;
}

/** Runs work as a span of its own, in a trace that goes on or begins. */
export async function traced<T>(
  name: string,
  { attributes = {}, kind = "internal", traceparent = null }: SpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  const parent = tracing === null ? null : parentOf(tracing, traceparent);
  if (tracing === null || parent === null) return await work();
  const { tracer, kinds } = tracing;
  const span = tracer.startSpan(name, { attributes, kind: kinds[KINDS[kind]] }, parent);
  return await spanning(span, () => current.run(span, work));
}

const KINDS = { server: "SERVER", consumer: "CONSUMER", internal: "INTERNAL" } as const;

/** Runs work as a part of the current span; by itself where there is none. */
export async function within<T>(name: string, work: () => Promise<T>): Promise<T> {
  const span = tracing === null ? null : childOf(name);
  return await (span === null ? work() : spanning(span, () => current.run(span, work)));
}

/** Adds to the current span, if there is one. */
export function annotate(attributes: Attributes, failure: string | null = null): void {
  if (tracing === null) return;
  const span = current.getStore();
  span?.setAttributes(attributes);
  if (failure !== null) span?.setStatus({ code: tracing.failed, message: failure });
}

/** The current span as `traceparent` writes it; null where nothing is recorded. */
export function traceparent(): string | null {
  const span = tracing === null ? undefined : current.getStore();
  if (span === undefined) return null;
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}

/** Where a new span goes: under the given one, the current one, or at the start of a trace; null where it is not recorded. */
function parentOf(on: Tracing, given: string | null): Context | null {
  const parts = given === null ? null : TRACEPARENT.exec(given);
  if (parts !== null) {
    return (parseInt(parts[3], 16) & 1) === 1 ? on.under(parts[1], parts[2]) : null;
  }
  const span = current.getStore();
  if (span !== undefined) return on.of(span);
  return Math.random() < on.share ? on.under(random(16), random(8)) : null;
}

/**
 * Begins a part of the current span, which the caller ends; null where nothing is recorded.
 *
 * @param name a name that is dear to make is made only where it is recorded
 */
export function childOf(name: string | (() => string), attributes: Attributes = {}): Span | null {
  const span = current.getStore();
  if (tracing === null || span === undefined) return null;
  const { tracer, kinds } = tracing;
  const named = typeof name === "string" ? name : name();
  return tracer.startSpan(named, { attributes, kind: kinds.CLIENT }, tracing.of(span));
}

async function spanning<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span as failed, by the kind of the error: its text may name what was searched for. */
export function fail(span: Span, error: unknown): void {
  const code = (error as { code?: unknown } | null)?.code;
  const kind = error instanceof Error ? error.name : typeof error;
  span.setStatus({ code: tracing!.failed, message: typeof code === "string" ? code : kind });
}

function random(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}
