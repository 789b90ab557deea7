/** The line that each request leaves in the log, and the end of its span. @module */
import { annotate, traceparent } from "../../tracing.ts";
import type { Services } from "./services.ts";

/** What is logged of each request. */
export type RequestLine = {
  request_id: string;
  actor: string;
  route: string;
  status: number;
  code: string | null;
  duration_ms: number;
};

/** Writes the line of a request, which has the id of its trace, and ends the request's span as it ended. */
export function logRequest({ log }: Services, fields: RequestLine): void {
  const { request_id, status, code } = fields;
  const trace = traceparent();
  const line = trace === null ? fields : { ...fields, trace_id: trace.slice(3, 35) };
  log(levelOf(status, code), "request", line);
  annotate(
    { "http.response.status_code": status, "purser.request_id": request_id },
    status >= 500 ? code : null,
  );
}

/** The level at which a request is logged. */
function levelOf(status: number, code: string | null): "error" | "warn" | "info" {
  if (code === "internal") return "error";
  return status >= 500 ? "warn" : "info";
}
