import { country } from '../payments/address.ts';
import { currency } from '../payments/money.ts';
import type { Settings } from '../state/settings.ts';
import { checkVersion } from '../wire/api-version.ts';
import { type FormMap, type FormNode, shorten } from '../wire/form.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import type { FaultRule } from './faults.ts';

/** Invalid input to the control API. */
export class ControlInputError extends Error {
  override readonly name = 'ControlInputError';
}

/** Ten years: more than tests need, and less than a value that was given in milliseconds by mistake. */
const advanceSecondsMax = 10 * 366 * 86_400;

/** Parses the time to move the clock to. An empty world may begin at an earlier time. */
export function parseClock(body: string, now: number, isNew: boolean): number {
  const fields = { to: p.integer(), advanceSeconds: p.integer(0, advanceSecondsMax) };
  const { to: given, advanceSeconds } = fieldsOf(body, fields);
  if ((given === undefined) === (advanceSeconds === undefined))
    throw new ControlInputError('Give either "to" (Unix seconds) or "advanceSeconds".');
  const to = given ?? now + (advanceSeconds ?? 0);
  if (to < now && !isNew)
    throw new ControlInputError(`The clock only moves forward, except in an empty world. It is now ${now}.`);
  if (to > now + advanceSecondsMax)
    throw new ControlInputError(
      `The clock can move by at most ${advanceSecondsMax} seconds at a time. "to" is in Unix seconds.`,
    );
  return to;
}

const mode = p.required(p.oneOf('normal', 'paused', 'duplicate', 'shuffle', 'drop'));

export function parseDelivery(body: string): Settings['deliveryMode'] {
  return fieldsOf(body, { mode }).mode;
}

const dunningFields = {
  afterwards: p.oneOf('cancel', 'unpaid', 'pause'),
  firstFailure: p.oneOf('past_due', 'pause'),
  resumption: p.oneOf('manual', 'keep_anchor', 'reset_anchor'),
};

/** Parses what happens to subscriptions whose renewals fail. Omitted settings do not change. */
export function parseDunning(body: string): Partial<Settings> {
  const { afterwards, ...others } = fieldsOf(body, dunningFields);
  const given = p.present({ afterDunning: afterwards, ...others });
  if (Object.keys(given).length === 0)
    throw new ControlInputError('Give "afterwards", "firstFailure" or "resumption".');
  return given;
}

/** Parses what a voided invoice does with the discounts that it has used up. */
export function parseVoiding(body: string): Pick<Settings, 'voidedDiscounts'> {
  const discounts = p.required(p.oneOf('used', 'redeemable', 'returned'));
  return { voidedDiscounts: fieldsOf(body, { discounts }).discounts };
}

const apiVersion: p.Parser<string> = (node, path) => checkVersion(p.text()(node, path), path);

/** Parses the settings of the account. Omitted settings do not change. */
export function parseAccount(body: string): Partial<Settings> {
  return p.present(fieldsOf(body, { apiVersion: p.clearable(apiVersion), country, currency }));
}

/** An hour: the processor's search lags by about a minute, and longer during an outage. */
const lagSecondsMax = 3_600;

export function parseSearchLag(body: string): Pick<Settings, 'searchLagSeconds'> {
  return {
    searchLagSeconds: fieldsOf(body, { lagSeconds: p.required(p.integer(0, lagSecondsMax)) }).lagSeconds,
  };
}

/** The seeds are whole numbers of 32 bits. */
const mannersFields = { like: p.clearable(p.oneOf('stripe')), seed: p.integer(0, 2 ** 32 - 1) };

/** Parses whose manners the sandbox has. Without a seed, they are the same every time. */
export function parseManners(body: string): Pick<Settings, 'mannersSeed'> {
  const { like, seed = 1 } = fieldsOf(body, mannersFields);
  if (like === undefined) throw new ControlInputError('"like" must be "stripe" or null.');
  return { mannersSeed: like === null ? null : seed };
}

/** Whether the cardholder's authentication succeeded. */
export function parseAuthentication(body: string): boolean {
  return fieldsOf(body, { result: p.required(p.oneOf('succeeded', 'failed')) }).result === 'succeeded';
}

const webAddress: p.Parser<string> = (node, path) => {
  if (typeof node !== 'string' || !isWebAddress(node))
    throw badParam(`"${path}" must be an address that starts with http:// or https://.`, path);
  return node;
};

/** The card that a customer pays with, by the name of a test card or the id of a payment method. */
export function parseConfirmation(body: string) {
  return fieldsOf(body, { payment_method: p.required(p.text()), return_url: webAddress });
}

/** What a buyer does on the payment page. By default, they pay with a card that succeeds, and authenticate. */
export function parsePurchase(body: string) {
  return fieldsOf(body, { ...p.each(p.text(), 'payment_method promotion_code'), authenticate: p.bool });
}

/** Whether the payment page waits for the response of the webhook endpoint. */
export function parseCheckout(body: string): Pick<Settings, 'checkoutWaits'> {
  return { checkoutWaits: fieldsOf(body, { waitsForWebhook: p.required(p.bool) }).waitsForWebhook };
}

export function isWebAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

/** Ten minutes: longer than any client waits. */
const latencyMsMax = 600_000;
const timesMax = 1_000_000;

const faultFields = {
  operation: p.required(p.text()),
  kind: p.required(p.oneOf('error', 'latency', 'hang', 'reset_before', 'reset_after')),
  status: p.integer(400, 599),
  code: p.text(),
  latencyMs: p.integer(0, latencyMsMax),
  times: p.integer(1, timesMax),
};

/** Parses a fault. Rejects an unknown operation, because its fault would never occur. */
export function parseFault(body: string, operationNames: readonly string[]): FaultRule {
  const { operation, kind, status = 500, code, latencyMs, times = 1 } = fieldsOf(body, faultFields);
  if (operation !== '*' && !operationNames.includes(operation))
    throw new ControlInputError(
      '"operation" must be "*" or a name such as "payment_intents.create". GET /sandbox/operations lists all names.',
    );
  if (kind === 'latency' && latencyMs === undefined)
    throw new ControlInputError(`"latencyMs" must be a whole number from 0 to ${latencyMsMax}.`);
  if (kind === 'latency') return { operation, times, kind, latencyMs: latencyMs ?? 0 };
  return kind === 'error' ? { operation, times, kind, status, code } : { operation, times, kind };
}

/** The fields of the body, which have the parsers of the wire API. */
function fieldsOf<F extends p.Fields>(body: string, fields: F): p.Parsed<F> {
  return p.parseFields(fields, formOf(jsonObject(body === '' ? '{}' : body), 'body'));
}

export type Input = Readonly<Record<string, unknown>>;

export function jsonObject(body: string): Input {
  let input: unknown;
  try {
    input = JSON.parse(body);
  } catch {
    throw new ControlInputError('The body must be JSON.');
  }
  if (!isObject(input)) throw new ControlInputError('The body must be a JSON object.');
  return input;
}

/** The same depth as parameters of the wire API. */
const depthMax = 6;

/** The parameters as the wire API receives them. */
export function formOf(fields: Input, at: string, depth = 1): FormMap {
  if (depth > depthMax)
    throw new ControlInputError(`${at}: values can be nested at most ${depthMax} levels deep.`);
  const form: FormMap = new Map();
  for (const [name, value] of Object.entries(fields)) {
    const node = nodeOf(value, `${at}.${shorten(name)}`, depth);
    if (node !== undefined) form.set(name, node);
  }
  return form;
}

function nodeOf(value: unknown, at: string, depth: number): FormNode | undefined {
  if (value === undefined) return undefined;
  // An empty value unsets a parameter, as the official clients send null.
  if (value === null) return '';
  if (Array.isArray(value)) return formOf({ ...value }, at, depth + 1);
  if (isObject(value)) return formOf(value, at, depth + 1);
  return String(value);
}

export function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
