/** Contents of messages: what each channel takes, and how much of it. @module */
import { z } from "zod";

/** Greatest text of an SMS, in characters: ten parts of 153. */
const SMS_MAX = 1530;
/** Greatest html and text of an e-mail, in characters. */
const EMAIL_MAX = 100_000;
/** Greatest body of a request with a message, in bytes. */
export const MESSAGE_BODY_MAX = 160 * 1024;

/** Signs that would end a line or a header, or that control a terminal. */
const CONTROL = /\p{Cc}|[\u2028\u2029]/u;

/** Text of several lines; other control characters are refused. */
function lines(max: number) {
  return z.string().min(1).max(max).refine(
    (text) => !CONTROL.test(text.replace(/[\r\n\t]/g, "")) && text.trim() !== "",
    "text without control characters is expected",
  );
}

/** The content of an SMS. */
export const SmsContent = z.strictObject({ text: lines(SMS_MAX) }).meta({
  id: "SmsContent",
  example: { text: "Your code is 123456" },
});

/** WhatsApp refuses line breaks, tabs and more than four blanks in a placeholder. */
const Placeholder = z.string().min(1).max(1024).refine(
  (text) => !CONTROL.test(text) && !/ {5}/.test(text) && text.trim() !== "",
  "one line of text without tabs or more than 4 blanks in a row is expected",
);

/** The content of a WhatsApp message: a template of the sender's account with its placeholders. */
export const WhatsAppContent = z.strictObject({
  templateName: z.string().min(1).max(512).regex(
    /^[a-z0-9_]+$/,
    "lower-case letters, digits and underscores are expected",
  ),
  templateData: z.strictObject({
    body: z.strictObject({ placeholders: z.array(Placeholder).max(50) }),
  }),
  language: z.string().regex(
    /^[a-z]{2,3}(_[A-Z]{2}|_[0-9]{3})?$/,
    "a language such as en or en_GB is expected",
  ),
}).meta({
  id: "WhatsAppContent",
  example: {
    templateName: "welcome",
    templateData: { body: { placeholders: ["Ada"] } },
    language: "en",
  },
});

/** The content of an e-mail. With both, it is sent as html. */
export const EmailContent = z.strictObject({
  subject: z.string().min(1).max(998).refine(
    (text) => !CONTROL.test(text) && text.trim() !== "",
    "one line of text is expected",
  ),
  html: lines(EMAIL_MAX).optional(),
  text: lines(EMAIL_MAX).optional(),
}).refine(({ html, text }) => html !== undefined || text !== undefined, {
  message: "html or text is expected",
  path: ["html"],
}).meta({
  id: "EmailContent",
  description: "Given both `html` and `text`, the e-mail is sent as html.",
  anyOf: [{ required: ["html"] }, { required: ["text"] }],
  example: { subject: "Welcome", text: "Your account is open." },
});

/** The channels. */
export const CHANNELS = ["sms", "whatsapp", "email"] as const;

/** A channel with its content. */
export type Content =
  | { channel: "sms"; content: z.infer<typeof SmsContent> }
  | { channel: "whatsapp"; content: z.infer<typeof WhatsAppContent> }
  | { channel: "email"; content: z.infer<typeof EmailContent> };
/** A channel. */
export type Channel = Content["channel"];
