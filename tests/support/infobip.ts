/**
 * An HTTP server that speaks Infobip's public description for texts, WhatsApp templates and e-mails,
 * and is as strict: another key, another content type, unknown or missing fields are refused. An id
 * that it knows is refused for texts and templates; for e-mails the description promises nothing.
 *
 * @module
 */

/** A message that the server took. */
export interface TakenMessage {
  path: string;
  messageId: string;
  to: string;
  from: string;
  callbackData: string;
  /** The rest of it. */
  content: Record<string, unknown>;
}

/** What happens to a request besides the usual. */
export type Fault =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** It takes the messages, and answers nothing. */
  | "lost";

/** A running server. */
export interface InfobipServer extends AsyncDisposable {
  url: string;
  /** The key of the account; the one of `env`, unless it is replaced. */
  key: string;
  taken: TakenMessage[];
  /** Every request's path, refused ones too. */
  paths: string[];
  /** Faults of the next requests, the first first. */
  faults: Fault[];
  env: Record<string, string>;
}

const STATUS = {
  groupId: 1,
  groupName: "PENDING",
  id: 7,
  name: "PENDING_ENROUTE",
  description: "Message sent to next instance",
};
const DUPLICATE = {
  groupId: 5,
  groupName: "REJECTED",
  id: 23,
  name: "REJECTED_DUPLICATE_MESSAGE_ID",
  description: "Message ID already used",
};

class Refusal extends Error {
  constructor(readonly status: number, readonly code: string) {
    super(code);
  }
}

/** Starts the server on loopback. */
export function startInfobip(): InfobipServer {
  const key = "the-key-of-the-account";
  const state = { taken: [] as TakenMessage[], paths: [] as string[], faults: [] as Fault[] };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => answer(request, running.key, state),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const running: InfobipServer = {
    ...{ url, key },
    ...state,
    env: {
      INFOBIP_BASE_URL: url,
      INFOBIP_API_KEY: key,
      INFOBIP_SMS_FROM: "Purser",
      INFOBIP_WHATSAPP_FROM: "447860099299",
      INFOBIP_EMAIL_FROM: "Purser <no-reply@example.com>",
      INFOBIP_WEBHOOK_SECRET: "a secret that the provider was given",
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
  return running;
}

async function answer(
  request: Request,
  key: string,
  state: Pick<InfobipServer, "taken" | "paths" | "faults">,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  state.paths.push(pathname);
  const fault = state.faults.shift();
  try {
    if (typeof fault === "object") {
      await request.body?.cancel();
      return Response.json(fault.body ?? {}, { status: fault.status, headers: fault.headers });
    }
    if (request.headers.get("authorization") !== `App ${key}`) {
      throw new Refusal(401, "UNAUTHORIZED");
    }
    if (request.method !== "POST") throw new Refusal(405, "METHOD_NOT_ALLOWED");
    const messages = await messagesIn(request, pathname);
    const answers = messages.map((message) => {
      const isKnown = pathname !== "/email/3/send" &&
        state.taken.some((one) => one.messageId === message.messageId);
      if (!isKnown) state.taken.push(message);
      const status = isKnown ? DUPLICATE : STATUS;
      const { messageId, to } = message;
      return pathname === "/sms/3/messages"
        ? { messageId, status, destination: to }
        : { messageId, to, messageCount: 1, status };
    });
    if (fault === "lost") return new Response(brokenStream(), { status: 200 });
    return Response.json({ bulkId: "b", messages: answers });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const serviceException = { messageId: error.code, text: `it said ${error.code}` };
    return Response.json({ requestError: { serviceException } }, { status: error.status });
  } finally {
    await request.body?.cancel().catch(() => {});
  }
}

function brokenStream(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.error(new Error("cut")) });
}

async function messagesIn(request: Request, path: string): Promise<TakenMessage[]> {
  const type = request.headers.get("content-type") ?? "";
  if (path === "/email/3/send") {
    if (!type.startsWith("multipart/form-data; boundary=")) throw new Refusal(415, "UNSUPPORTED");
    return [emailOf(await request.formData())];
  }
  if (path !== "/sms/3/messages" && path !== "/whatsapp/1/message/template") {
    throw new Refusal(404, "NOT_FOUND");
  }
  if (!/^application\/json(;|$)/.test(type)) throw new Refusal(415, "UNSUPPORTED");
  const { messages } = shaped(await request.json(), ["messages"], []);
  if (!Array.isArray(messages) || messages.length === 0) throw invalid();
  return messages.map(path === "/sms/3/messages" ? smsOf : templateOf).map((message) => ({
    path,
    ...message,
  }));
}

function smsOf(given: unknown): Omit<TakenMessage, "path"> {
  const message = shaped(given, ["sender", "destinations", "content"], ["options", "webhooks"]);
  const [destination] = message.destinations as unknown[];
  const { to, messageId } = shaped(destination, ["to"], ["messageId"]);
  const content = shaped(message.content, ["text"], ["transliteration", "language"]);
  const { callbackData } = shaped(message.webhooks ?? {}, [], [
    "delivery",
    "contentType",
    "callbackData",
  ]);
  return {
    ...{ to: digits(to), from: words(message.sender, 20), messageId: words(messageId, 200) },
    ...{ callbackData: words(callbackData, 4000), content },
  };
}

function templateOf(given: unknown): Omit<TakenMessage, "path"> {
  const message = shaped(given, ["from", "to", "content"], [
    ...["messageId", "callbackData", "notifyUrl", "urlOptions", "smsFailover"],
    ...["entityId", "applicationId"],
  ]);
  const content = shaped(message.content, ["templateName", "templateData", "language"], []);
  const { body } = shaped(content.templateData, ["body"], ["header", "buttons"]);
  const { placeholders } = shaped(body, ["placeholders"], []);
  if (!Array.isArray(placeholders) || !placeholders.every((one) => typeof one === "string")) {
    throw invalid();
  }
  if (!/^[a-z0-9_]{1,512}$/.test(`${content.templateName}`)) throw invalid();
  return {
    ...{ to: digits(message.to), from: digits(message.from) },
    ...{ messageId: words(message.messageId, 200), content },
    callbackData: words(message.callbackData, 4000),
  };
}

function emailOf(form: FormData): TakenMessage {
  const given = Object.fromEntries(form);
  const fields = shaped(given, ["from", "to", "subject"], [
    ...["cc", "bcc", "text", "html", "ampHtml", "templateId", "intermediateReport", "notifyUrl"],
    ...["notifyContentType", "callbackData", "track", "bulkId", "messageId", "replyTo"],
    ...["preserveRecipients", "sendAt"],
  ]);
  if (!("text" in fields) && !("html" in fields)) throw invalid();
  if (!/^[^@\s]+@[^@\s]+$/.test(`${fields.to}`)) throw invalid();
  const { from, to, messageId, callbackData, ...content } = fields;
  return {
    path: "/email/3/send",
    ...{ to: `${to}`, from: words(from, 320), messageId: words(messageId, 200) },
    ...{ callbackData: words(callbackData, 4000), content },
  };
}

/** An object with all that it needs, and nothing that it does not know. */
function shaped(
  given: unknown,
  needed: readonly string[],
  others: readonly string[],
): Record<string, unknown> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw invalid();
  const object = given as Record<string, unknown>;
  const names = Object.keys(object);
  if (needed.some((name) => object[name] === undefined || object[name] === null)) throw invalid();
  if (names.some((name) => ![...needed, ...others].includes(name))) throw invalid();
  return object;
}

function words(given: unknown, max: number): string {
  if (typeof given !== "string" || given.length < 1 || given.length > max) throw invalid();
  return given;
}

function digits(given: unknown): string {
  if (typeof given !== "string" || !/^[1-9]\d{4,14}$/.test(given)) throw invalid();
  return given;
}

function invalid(): Refusal {
  return new Refusal(400, "BAD_REQUEST");
}
