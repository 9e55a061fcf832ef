import { currency as currencyCode } from '../payments/money.ts';
import type { DeliveryMode, Settings } from '../state/settings.ts';
import { checkVersion } from '../wire/api-version.ts';
import type { FaultRule } from './faults.ts';

/** Invalid input to the control API. */
export class ControlInputError extends Error {
  override readonly name = 'ControlInputError';
}

/** Ten years: more than tests need, and less than a value that was given in milliseconds by mistake. */
const advanceSecondsMax = 10 * 366 * 86_400;

/** Parses the time to move the clock to. An empty world may begin at an earlier time. */
export function parseClock(body: string, now: number, isNew: boolean): number {
  const input = fieldsOf(body, ['to', 'advanceSeconds']);
  if ((input['to'] === undefined) === (input['advanceSeconds'] === undefined))
    throw new ControlInputError('Give either "to" (Unix seconds) or "advanceSeconds".');
  const to =
    input['to'] === undefined
      ? now + integerOf(input, 'advanceSeconds', 0, advanceSecondsMax)
      : integerOf(input, 'to', 0);
  if (to < now && !isNew)
    throw new ControlInputError(`The clock only moves forward, except in an empty world. It is now ${now}.`);
  if (to > now + advanceSecondsMax)
    throw new ControlInputError(
      `The clock can move by at most ${advanceSecondsMax} seconds at a time. "to" is in Unix seconds.`,
    );
  return to;
}

const modes: readonly DeliveryMode[] = ['normal', 'paused', 'duplicate', 'shuffle', 'drop'];

export function parseDelivery(body: string): DeliveryMode {
  return choiceOf(fieldsOf(body, ['mode']), 'mode', modes);
}

type Dunning = Pick<Settings, 'afterDunning' | 'firstFailure' | 'resumption'>;

/** Parses what happens to subscriptions whose renewals fail. Omitted settings do not change. */
export function parseDunning(body: string): Partial<Dunning> {
  const input = fieldsOf(body, ['afterwards', 'firstFailure', 'resumption']);
  if (Object.keys(input).length === 0)
    throw new ControlInputError('Give "afterwards", "firstFailure" or "resumption".');
  return {
    ...('afterwards' in input
      ? { afterDunning: choiceOf(input, 'afterwards', ['cancel', 'unpaid', 'pause']) }
      : {}),
    ...('firstFailure' in input
      ? { firstFailure: choiceOf(input, 'firstFailure', ['past_due', 'pause']) }
      : {}),
    ...('resumption' in input
      ? { resumption: choiceOf(input, 'resumption', ['manual', 'keep_anchor', 'reset_anchor']) }
      : {}),
  };
}

/** Parses the settings of the account. Omitted settings do not change. */
export function parseAccount(body: string): Partial<Settings> {
  const input = fieldsOf(body, ['apiVersion', 'country', 'currency']);
  const { apiVersion, country, currency } = input;
  if (country !== undefined && (typeof country !== 'string' || !/^[A-Z]{2}$/.test(country)))
    throw new ControlInputError('"country" must be two capital letters, such as "DE".');
  return {
    ...(country === undefined ? {} : { country }),
    ...(currency === undefined ? {} : { currency: currencyCode(String(currency), 'currency') }),
    ...(apiVersion === undefined
      ? {}
      : { apiVersion: apiVersion === null ? null : checkVersion(String(apiVersion), 'apiVersion') }),
  };
}

/** An hour: the processor's search lags by about a minute, and longer during an outage. */
const lagSecondsMax = 3_600;

export function parseSearchLag(body: string): number {
  return integerOf(fieldsOf(body, ['lagSeconds']), 'lagSeconds', 0, lagSecondsMax);
}

/** Whether the cardholder's authentication succeeded. */
export function parseAuthentication(body: string): boolean {
  return choiceOf(fieldsOf(body, ['result']), 'result', ['succeeded', 'failed']) === 'succeeded';
}

/** The card that a customer pays with, and where the customer returns to after authentication. */
export function parseConfirmation(body: string): {
  readonly paymentMethod: string;
  readonly returnUrl: string | undefined;
} {
  const input = fieldsOf(body, ['payment_method', 'return_url']);
  const { payment_method: paymentMethod, return_url: returnUrl } = input;
  if (typeof paymentMethod !== 'string' || paymentMethod === '')
    throw new ControlInputError(
      '"payment_method" must be the name of a test card, such as "pm_card_visa", or the id of a payment method.',
    );
  if (returnUrl !== undefined && (typeof returnUrl !== 'string' || !isWebAddress(returnUrl)))
    throw new ControlInputError('"return_url" must be an address that starts with http:// or https://.');
  return { paymentMethod, returnUrl };
}

/** What a buyer does on the payment page. By default, they pay with a card that succeeds, and authenticate. */
export function parsePurchase(body: string): {
  readonly paymentMethod: string | undefined;
  readonly promotionCode: string | undefined;
  readonly authenticates: boolean;
} {
  const input = fieldsOf(body === '' ? '{}' : body, ['payment_method', 'promotion_code', 'authenticate']);
  const { payment_method: paymentMethod, promotion_code: promotionCode, authenticate = true } = input;
  if (paymentMethod !== undefined && (typeof paymentMethod !== 'string' || paymentMethod === ''))
    throw new ControlInputError(
      '"payment_method" must be the name of a test card, such as "pm_card_visa", or the id of a payment method.',
    );
  if (promotionCode !== undefined && (typeof promotionCode !== 'string' || promotionCode === ''))
    throw new ControlInputError('"promotion_code" must be a promotion code or its id.');
  if (typeof authenticate !== 'boolean') throw new ControlInputError('"authenticate" must be a boolean.');
  return { paymentMethod, promotionCode, authenticates: authenticate };
}

/** Whether the payment page waits for the response of the webhook endpoint. */
export function parseCheckout(body: string): Pick<Settings, 'checkoutWaits'> {
  const { waitsForWebhook } = fieldsOf(body, ['waitsForWebhook']);
  if (typeof waitsForWebhook !== 'boolean')
    throw new ControlInputError('"waitsForWebhook" must be a boolean.');
  return { checkoutWaits: waitsForWebhook };
}

export function isWebAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

const kinds = ['error', 'latency', 'hang', 'reset_before', 'reset_after'] as const;
/** Ten minutes: longer than any client waits. */
const latencyMsMax = 600_000;
const timesMax = 1_000_000;

/** Parses a fault. Rejects an unknown operation, because its fault would never occur. */
export function parseFault(body: string, operationNames: readonly string[]): FaultRule {
  const input = fieldsOf(body, ['operation', 'kind', 'status', 'code', 'latencyMs', 'times']);
  const operation = input['operation'];
  if (typeof operation !== 'string' || (operation !== '*' && !operationNames.includes(operation)))
    throw new ControlInputError(
      '"operation" must be "*" or a name such as "payment_intents.create". GET /sandbox/operations lists all names.',
    );
  const kind = choiceOf(input, 'kind', kinds);
  const times = input['times'] === undefined ? 1 : integerOf(input, 'times', 1, timesMax);
  if (kind === 'latency')
    return { operation, times, kind, latencyMs: integerOf(input, 'latencyMs', 0, latencyMsMax) };
  if (kind !== 'error') return { operation, times, kind };
  const code = input['code'];
  if (code !== undefined && typeof code !== 'string') throw new ControlInputError('"code" must be a string.');
  return {
    operation,
    times,
    kind,
    status: input['status'] === undefined ? 500 : integerOf(input, 'status', 400, 599),
    code,
  };
}

export type Input = Readonly<Record<string, unknown>>;

function fieldsOf(body: string, names: readonly string[]): Input {
  const input = jsonObject(body);
  for (const name of Object.keys(input))
    if (!names.includes(name))
      throw new ControlInputError(
        `Unknown field "${name}". Known fields: ${names.map((known) => `"${known}"`).join(', ')}.`,
      );
  return input;
}

export function jsonObject(body: string): Input {
  let input: unknown;
  try {
    input = JSON.parse(body);
  } catch {
    throw new ControlInputError('The body must be JSON.');
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new ControlInputError('The body must be a JSON object.');
  // Checked above: an object that is not an array.
  return input as Input;
}

function integerOf(input: Input, name: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = input[name];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw new ControlInputError(`"${name}" must be a whole number from ${min} to ${max}.`);
  return value;
}

function choiceOf<const T extends string>(input: Input, name: string, choices: readonly T[]): T {
  const value = choices.find((choice) => choice === input[name]);
  if (value === undefined)
    throw new ControlInputError(
      `"${name}" must be one of: ${choices.map((choice) => `"${choice}"`).join(', ')}.`,
    );
  return value;
}
