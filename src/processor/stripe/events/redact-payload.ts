import { priceMarksOf } from '../objects/plan-metadata.ts';
import { checkoutIdKey, mainMarkKey } from '../wire/wire-metadata.ts';
import { isRecord, localIdKey, redactText, secretName } from '../wire/wire-object.ts';
import { eventReaders } from './event-types.ts';
import { isPersonalName } from './personal-name.ts';

/** A payload in the two forms in which it may be stored. */
interface RedactedForms {
  readonly payload: string;
  /** The same without any personal data. Null if `payload` contains none. */
  readonly erasedPayload: string | null;
}

/**
 * Marks an event without its personal data: the customer was erased, or does not belong to Till. Of the metadata of its
 * object, only Till's id is left.
 */
export const erasedMark = 'till_erased';

/** The event types whose personal data a mirror stores, and the fields that it stores. */
const personalTypes: ReadonlySet<unknown> = new Set(['customer.created', 'customer.updated']);
const customerFields = ['email', 'name', 'phone'] as const;

/** The event types whose metadata a mirror stores. Payments and subscriptions belong to a customer. */
const ownMetadataTypes: ReadonlySet<unknown> = new Set([...personalTypes, 'product.updated']);
/** Of the metadata of a price, a mirror stores only whether its plan is an add-on. */
const priceTypes = /^price\./;
const ownedTypes = /^(?:payment_intent|customer\.subscription)\./;
const subscriptionTypes = /^customer\.subscription\./;

/** Whether the object of this event belongs to a customer, and a mirror stores its metadata. */
function isOwned(type: unknown): type is string {
  return typeof type === 'string' && ownedTypes.test(type);
}

/**
 * The part of an event that is kept. Secrets are removed from every event, and so is personal data that no mirror
 * needs. Data that is not stored needs no protection, and no search when a customer is deleted.
 */
export function redactPayload(event: unknown): RedactedForms {
  const { value, erasedPayload } = redactEvent(event);
  return { payload: JSON.stringify(value), erasedPayload };
}

/** Like `redactPayload`, with the value of the payload. */
export function redactEvent(event: unknown): Omit<RedactedForms, 'payload'> & { readonly value: unknown } {
  const redacted = redactValue(event);
  const { type, [erasedMark]: erased } = record(event);
  if (erased === true) return { value: redacted, erasedPayload: null };
  // No mirror reads this event yet. A later release that does must not conclude that its metadata is empty.
  if (isOwned(type) && !eventReaders.has(type)) return { value: erasedForm(redacted), erasedPayload: null };
  const kept = {
    ...linksOf(event),
    ...(personalTypes.has(type) ? customerFieldsOf(event) : {}),
    ...(ownMetadataTypes.has(type) || isOwned(type) ? metadataOf(event) : {}),
    ...(typeof type === 'string' && priceTypes.test(type) ? priceMetadataOf(event) : {}),
    ...(typeof type === 'string' && subscriptionTypes.test(type) ? reasonOf(event) : {}),
  };
  if (!isPersonal(kept)) return { value: redacted, erasedPayload: null };
  const isErasable = personalTypes.has(type) || isOwned(type);
  return {
    value: withObject(redacted, kept),
    erasedPayload: isErasable ? JSON.stringify(erasedForm(redacted)) : null,
  };
}

function erasedForm(redacted: unknown): object {
  return { ...record(redacted), [erasedMark]: true };
}

/** Like `redactPayload`, for a stored event. A payload that is not JSON has no content. */
export function redactStored(payload: string): RedactedForms {
  try {
    return redactPayload(JSON.parse(payload));
  } catch (error) {
    if (error instanceof SyntaxError) return { payload: '{}', erasedPayload: null };
    throw error;
  }
}

/**
 * The kinds of objects that mirrors read, and their containers. Of any other kind (cards, bank accounts, tax ids,
 * identity checks, invoice lines) Till needs only the id and kind.
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
  'invoice_payment',
]);

/**
 * The same JSON value without secrets and personal data. A redacted value becomes null, so that its field stays. An
 * unchanged object is returned as it is, not copied: this runs for every event, and most of each is unchanged. Lists
 * are always copied.
 */
function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redactValue);
  const fields = record(value);
  const kind = fields['object'];
  if (kind === 'dispute') return onlyDispute(fields);
  if (kind === 'checkout.session') return onlyCheckout(fields);
  if (kind === 'line_item') return onlyBilledPeriod(fields);
  if (typeof kind === 'string' && !keptKinds.has(kind)) return idAndKind(fields);
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const before = fields[name];
    const after = before === null ? null : redactField(kind, name, before);
    if (after === before) continue;
    // The object has each field as its own, so the assignment changes no prototype, whatever the name.
    copy ??= { ...fields };
    copy[name] = after;
  }
  return copy ?? fields;
}

function redactField(kind: unknown, name: string, field: unknown): unknown {
  const content = contentOf(name);
  if (content === 'other') return redactValue(field);
  if (content === 'secret') return null;
  // Metadata may contain anything. Till reads its own id there; `redactPayload` puts back what a mirror stores.
  if (content === 'metadata') return onlyLocalId(field);
  if (kind === 'charge' && name === 'payment_method_details') return onlyShownDetails(field);
  return isShown(kind, name) ? redactValue(field) : null;
}

type Content = 'metadata' | 'secret' | 'personal' | 'other';

/**
 * The kind of content by the name of a field. Every event has the same few hundred names, so each name is examined
 * once.
 */
const contents = new Map<string, Content>();
/** The processor uses about a thousand short names. Names that a sender invents must not fill the memory. */
const contentsMax = 10_000;
const rememberedLengthMax = 64;

function contentOf(name: string): Content {
  const known = contents.get(name);
  if (known !== undefined) return known;
  const content = examine(name);
  if (contents.size < contentsMax && name.length <= rememberedLengthMax) contents.set(name, content);
  return content;
}

function examine(name: string): Content {
  if (name === 'metadata') return 'metadata';
  if (secretName.test(name)) return 'secret';
  return isPersonalName(name) ? 'personal' : 'other';
}

/** The name of a product is not personal, and the plan uses it. The API shows the URL of an invoice's PDF. */
function isShown(kind: unknown, name: string): boolean {
  return (kind === 'product' && name === 'name') || (kind === 'invoice' && name === 'invoice_pdf');
}

/** What a payment shows about its payment method, and when its authorisation expires. */
const shownDetails = ['brand', 'last4', 'exp_month', 'exp_year', 'capture_before'];

/** Each type of payment method has its own object, named like the type. */
function onlyShownDetails(details: unknown): object | null {
  const { type, ...byType } = record(details);
  if (typeof type !== 'string') return null;
  const shown = Object.entries(record(byType[type])).filter(
    ([name, value]) => shownDetails.includes(name) && ['string', 'number'].includes(typeof value),
  );
  return { type, ...(shown.length === 0 ? {} : { [type]: Object.fromEntries(shown) }) };
}

const disputeFields = ['id', 'object', 'amount', 'created', 'currency', 'reason', 'status'];

/** What a payment shows about its dispute, and what links the two. Evidence contains personal data in every field. */
function onlyDispute(fields: Readonly<Record<string, unknown>>): object {
  const { charge, payment_intent, evidence_details } = fields;
  const { due_by } = record(evidence_details);
  const shown = Object.entries(fields).filter(
    ([name, value]) => disputeFields.includes(name) && (typeof value !== 'object' || value === null),
  );
  return {
    ...Object.fromEntries(shown.map(([name, value]) => [name, redactValue(value)])),
    ...(charge === undefined ? {} : { charge: onlyLinks(charge) }),
    ...(payment_intent === undefined ? {} : { payment_intent: onlyLinks(payment_intent) }),
    ...(typeof due_by === 'number' ? { evidence_details: { due_by } } : {}),
  };
}

/** A reference. An expanded object is reduced to its id and the payment intent that it belongs to. */
function onlyLinks(reference: unknown): unknown {
  if (typeof reference !== 'object' || reference === null) return redactValue(reference);
  const { payment_intent, ...fields } = record(reference);
  const link = payment_intent === undefined ? {} : { payment_intent: onlyLinks(payment_intent) };
  return { ...idAndKind(fields), ...link };
}

/** A session is read before its row is written. It contains personal data, and the URL of a page to pay on. */
function onlyCheckout(fields: Readonly<Record<string, unknown>>): object {
  const { metadata } = fields;
  return { ...idAndKind(fields), ...(metadata == null ? {} : { metadata: onlyLocalId(metadata) }) };
}

function idAndKind(fields: Readonly<Record<string, unknown>>): object {
  const { id, object } = fields;
  return id === undefined ? { object } : { id, object };
}

/** The fields that show the period that a line pays for, without any detail of what was sold. */
function onlyBilledPeriod(line: Readonly<Record<string, unknown>>): object {
  const { amount, period, type, proration } = line;
  const { start, end } = record(period);
  const parent = record(line['parent']);
  const source = typeof parent['type'] === 'string' ? parent['type'] : '';
  const details = { proration: record(parent[source])['proration'] === true };
  return {
    ...idAndKind(line),
    ...(typeof amount === 'number' ? { amount } : {}),
    ...(typeof end === 'number' ? { period: { start: typeof start === 'number' ? start : null, end } } : {}),
    ...('parent' in line
      ? { parent: source === '' ? null : { type: redactText(source), [redactText(source)]: details } }
      : { type: type === 'subscription' ? type : 'invoiceitem', proration: proration === true }),
  };
}

/** An id of the processor, in a mark. */
const idShape = /^[a-z]{2,10}_[A-Za-z0-9]{1,255}$/;

/** Till's id, the id of the checkout, and the mark of the main plan in a pending update. */
function onlyLocalId(metadata: unknown): object {
  const fields = record(metadata);
  const { [localIdKey]: id, [checkoutIdKey]: checkoutId, [mainMarkKey]: mark } = fields;
  const isMark = typeof mark === 'string' && idShape.test(mark) && redactText(mark) === mark;
  const kept = {
    ...(id === undefined ? {} : { [localIdKey]: id }),
    ...(checkoutId === undefined ? {} : { [checkoutIdKey]: checkoutId }),
    ...(isMark ? { [mainMarkKey]: mark } : {}),
  };
  return Object.keys(fields).length === Object.keys(kept).length ? fields : kept;
}

/**
 * The ids that link objects that no mirror stores to a subscription. A detached payment method no longer names its
 * customer, but its event still does.
 */
function linksOf(event: unknown): Readonly<Record<string, string>> {
  const { type, data } = record(event);
  const object = objectOf(event);
  const [fields, names] =
    type === 'payment_method.detached'
      ? [{ ...object, ...record(record(data)['previous_attributes']) }, ['customer']]
      : isAboutSubscription(type)
        ? [object, ['subscription', 'released_subscription']]
        : [object, []];
  const links = names.flatMap((name) => {
    const link = record(fields)[name];
    const id = typeof link === 'string' ? link : record(link)['id'];
    return typeof id === 'string' ? [[name, redactText(id)]] : [];
  });
  return Object.fromEntries(links);
}

function isAboutSubscription(type: unknown): boolean {
  const families = ['subscription_schedule.', 'customer.discount.'];
  return typeof type === 'string' && families.some((family) => type.startsWith(family));
}

/** The fields that a mirror stores from this event, without empty ones. */
function customerFieldsOf(event: unknown): Readonly<Record<string, unknown>> {
  const object = objectOf(event);
  const filled = customerFields.filter((field) => object[field] !== undefined && object[field] !== null);
  // The processor sends only text here. A value of another type is kept, and the mapping of the event refuses it.
  return Object.fromEntries(filled.map((field) => [field, object[field]]));
}

/** The metadata, only texts and without secrets. Empty if the event has none. */
function metadataOf(event: unknown): { readonly metadata?: Readonly<Record<string, string>> } {
  const { metadata } = objectOf(event);
  if (metadata === undefined || metadata === null) return {};
  const texts = Object.entries(record(metadata)).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, redactText(value)]] : [],
  );
  return { metadata: Object.fromEntries(texts) };
}

/** Till's id, and the marks of a plan. Empty if the price has no mark. */
function priceMetadataOf(event: unknown): { readonly metadata?: Readonly<Record<string, string>> } {
  const { metadata = {} } = metadataOf(event);
  const { [localIdKey]: id } = metadata;
  const marks = priceMarksOf(metadata);
  if (Object.keys(marks).length === 0) return {};
  return { metadata: { ...(id === undefined ? {} : { [localIdKey]: id }), ...marks } };
}

/** The comment of the person who canceled, which the subscription shows. Empty if there is none. */
function reasonOf(event: unknown): object {
  const details = record(objectOf(event)['cancellation_details']);
  const { comment } = details;
  if (typeof comment !== 'string' || comment === '') return {};
  return { cancellation_details: { ...record(redactValue(details)), comment: redactText(comment) } };
}

/** Whether the fields hold more than Till's id. Metadata may contain anything. */
function isPersonal({ metadata, ...fields }: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(fields).length > 0 || Object.keys(record(metadata)).some((key) => key !== localIdKey);
}

function objectOf(event: unknown): Readonly<Record<string, unknown>> {
  return record(record(record(event)['data'])['object']);
}

function withObject(event: unknown, fields: Readonly<Record<string, unknown>>): object {
  const data = record(record(event)['data']);
  return { ...record(event), data: { ...data, object: { ...record(data['object']), ...fields } } };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
