import { localIdKey } from '../wire/wire-object.ts';
import { isPersonalName } from './personal-name.ts';
import { redactText, secretName } from './redact-secrets.ts';

/** A payload in the two forms in which it may be kept. */
export interface RedactedPayload {
  readonly payload: string;
  /** The same without anything of the person either; null if there is nothing of a person in `payload`. */
  readonly erasedPayload: string | null;
}

/** Marks an event that says nothing any more: of whom it told has been erased, or was none of ours. */
export const erasedMark = 'till_erased';

/** The types of events whose personal data a mirror takes in, and what it takes. */
const personalTypes: ReadonlySet<unknown> = new Set(['customer.created', 'customer.updated']);
const customerFields = ['email', 'name', 'phone'] as const;

/**
 * What is kept of an event. Secrets go from every event. So does personal data, wherever no mirror needs it: what is
 * not kept need not be protected, shown to operators, or found again when a customer is deleted.
 */
export function redactPayload(event: unknown): RedactedPayload {
  const redacted = redactValue(event);
  const customer = personalCustomer(event);
  if (customer === null) return { payload: JSON.stringify(redacted), erasedPayload: null };
  return {
    payload: JSON.stringify(withObject(redacted, customer)),
    erasedPayload: JSON.stringify({ ...record(redacted), [erasedMark]: true }),
  };
}

/** The same for an event that was stored before. One that is no JSON says nothing to anybody. */
export function redactStored(payload: string): RedactedPayload {
  try {
    return redactPayload(JSON.parse(payload));
  } catch (error) {
    if (error instanceof SyntaxError) return { payload: '{}', erasedPayload: null };
    throw error;
  }
}

/**
 * The kinds of objects that mirrors are made from, and what holds them together. Of any other (cards, bank accounts, tax
 * ids, identity checks, lines of an invoice) nobody reads more than which it is.
 */
const keptKinds: ReadonlySet<unknown> = new Set([
  'event',
  'list',
  'customer',
  'product',
  'price',
  'payment_intent',
  'charge',
  'refund',
  'subscription',
  'subscription_item',
  'invoice',
]);

/**
 * The same JSON value without secrets and personal data: what is redacted becomes null, so that fields stay. What has
 * nothing to lose is returned as it is, lists aside; every event comes this way, and most of each is never copied.
 */
function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redactValue);
  const fields = record(value);
  const kind = fields['object'];
  if (typeof kind === 'string' && !keptKinds.has(kind)) return stump(fields);
  const changes: [string, unknown][] = [];
  for (const name of Object.keys(fields)) {
    const before = fields[name];
    const after = before === null ? null : redactField(kind, name, before);
    if (after !== before) changes.push([name, after]);
  }
  return changes.length === 0 ? fields : { ...fields, ...Object.fromEntries(changes) };
}

function redactField(kind: unknown, name: string, field: unknown): unknown {
  // Others write what they like into metadata; of it only our own id is read.
  if (name === 'metadata') return onlyOurs(field);
  if (secretName.test(name)) return null;
  // A product is no person, and the plan takes its name.
  if (isPersonalName(name) && !(kind === 'product' && name === 'name')) return null;
  return redactValue(field);
}

function stump(fields: Readonly<Record<string, unknown>>): object {
  const { id, object } = fields;
  return id === undefined ? { object } : { id, object };
}

function onlyOurs(metadata: unknown): object {
  const fields = record(metadata);
  const { [localIdKey]: id } = fields;
  if (Object.keys(fields).length === (id === undefined ? 0 : 1)) return fields;
  return id === undefined ? {} : { [localIdKey]: id };
}

/** The fields that a mirror takes in from this event; null if it takes none, or there is nothing in them. */
function personalCustomer(event: unknown): Readonly<Record<string, unknown>> | null {
  const { type, data, [erasedMark]: erased } = record(event);
  if (!personalTypes.has(type) || erased === true) return null;
  const object = record(record(data)['object']);
  const present = customerFields.filter((field) => object[field] !== undefined && object[field] !== null);
  // Not a text is not what the processor sends. It stays as wrong as it is, for whoever reads the event to refuse.
  return present.length === 0 ? null : Object.fromEntries(present.map((field) => [field, object[field]]));
}

function withObject(event: unknown, fields: Readonly<Record<string, unknown>>): object {
  const data = record(record(event)['data']);
  return { ...record(event), data: { ...data, object: { ...record(data['object']), ...fields } } };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  // Any object of JSON is one of names and values.
  return isRecord ? (value as Readonly<Record<string, unknown>>) : {};
}
