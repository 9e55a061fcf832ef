import type { DeliveryMode, Settings } from '../state/settings.ts';
import type { Fault } from './faults.ts';

/** What the caller of the control API got wrong. */
export class ControlInputError extends Error {
  override readonly name = 'ControlInputError';
}

/** Ten years, which is more than any test needs; a value in milliseconds by mistake is far beyond it. */
const advanceSecondsMax = 10 * 366 * 86_400;

/** The time to move to. */
export function parseClock(body: string, now: number): number {
  const input = fieldsOf(body, ['to', 'advanceSeconds']);
  if ((input['to'] === undefined) === (input['advanceSeconds'] === undefined))
    throw new ControlInputError('Say either "to" (unix seconds) or "advanceSeconds".');
  const to =
    input['to'] === undefined
      ? now + integerOf(input, 'advanceSeconds', 0, advanceSecondsMax)
      : integerOf(input, 'to', 0);
  if (to < now) throw new ControlInputError(`The clock stands at ${now} and only moves forward.`);
  if (to > now + advanceSecondsMax)
    throw new ControlInputError(`One move is at most ${advanceSecondsMax} seconds; "to" is in unix seconds.`);
  return to;
}

const modes: readonly DeliveryMode[] = ['normal', 'paused', 'duplicate', 'shuffle', 'drop'];

export function parseDelivery(body: string): DeliveryMode {
  return choiceOf(fieldsOf(body, ['mode']), 'mode', modes);
}

export function parseDunning(body: string): Settings['afterDunning'] {
  return choiceOf(fieldsOf(body, ['afterwards']), 'afterwards', ['cancel', 'unpaid']);
}

/** Whether the cardholder's authentication succeeded. */
export function parseAuthentication(body: string): boolean {
  return choiceOf(fieldsOf(body, ['result']), 'result', ['succeeded', 'failed']) === 'succeeded';
}

const kinds = ['error', 'latency', 'hang', 'reset_before', 'reset_after'] as const;
/** Ten minutes: longer than any client waits. */
const latencyMsMax = 600_000;
const timesMax = 1_000_000;

/** A fault aimed at an operation that does not exist would never be met, so its name is checked. */
export function parseFault(body: string, operationNames: readonly string[]): Fault {
  const input = fieldsOf(body, ['operation', 'kind', 'status', 'code', 'latencyMs', 'times']);
  const operation = input['operation'];
  if (typeof operation !== 'string' || (operation !== '*' && !operationNames.includes(operation)))
    throw new ControlInputError(
      '"operation" is "*" or a name such as "payment_intents.create"; GET /sandbox/operations lists them all.',
    );
  const kind = choiceOf(input, 'kind', kinds);
  const times = input['times'] === undefined ? 1 : integerOf(input, 'times', 1, timesMax);
  if (kind === 'latency')
    return { operation, times, kind, latencyMs: integerOf(input, 'latencyMs', 0, latencyMsMax) };
  if (kind !== 'error') return { operation, times, kind };
  const code = input['code'];
  if (code !== undefined && typeof code !== 'string') throw new ControlInputError('"code" is a text.');
  return {
    operation,
    times,
    kind,
    status: input['status'] === undefined ? 500 : integerOf(input, 'status', 400, 599),
    code,
  };
}

type Input = Readonly<Record<string, unknown>>;

function fieldsOf(body: string, names: readonly string[]): Input {
  let input: unknown;
  try {
    input = JSON.parse(body);
  } catch {
    throw new ControlInputError('The body must be JSON.');
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new ControlInputError('The body must be a JSON object.');
  for (const name of Object.keys(input))
    if (!names.includes(name))
      throw new ControlInputError(
        `There is no "${name}" here, only: ${names.map((known) => `"${known}"`).join(', ')}.`,
      );
  // Checked above: an object that is no array.
  return input as Input;
}

function integerOf(input: Input, name: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = input[name];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw new ControlInputError(`"${name}" is a whole number from ${min} to ${max}.`);
  return value;
}

function choiceOf<const T extends string>(input: Input, name: string, choices: readonly T[]): T {
  const value = choices.find((choice) => choice === input[name]);
  if (value === undefined)
    throw new ControlInputError(`"${name}" is one of: ${choices.map((choice) => `"${choice}"`).join(', ')}.`);
  return value;
}
