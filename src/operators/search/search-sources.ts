import type { Checkout } from '#core/model/checkout.ts';
import type { Customer } from '#core/model/customer.ts';
import type { Invoice } from '#core/model/invoice.ts';
import type { Payment } from '#core/model/payment.ts';
import type { Plan } from '#core/model/plan.ts';
import type { Refund } from '#core/model/refund.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { WebhookEvent } from '#core/model/webhook-event.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { type EventPlace, eventId, parseEventId } from '#engine/events/feed/event-id.ts';
import type { StoredEvent } from '#engine/events/feed/stored-event.ts';
import type { CurrencyAmounts } from '#engine/mirrors/find-by-amounts.ts';
import {
  type Found,
  idRange,
  isLast4,
  isVisible,
  type Match,
  type MatchedField,
  resultsMax,
} from './search.ts';
import { amountsOf } from './searched-amounts.ts';
import { type Comparison, comparedWith } from './searched-words.ts';

/** Finds the rows of a table by their ids, and by the processor's. */
interface RowFinder<Row> {
  findBetween(db: Queryable, from: string, to: string, limit: number): Promise<readonly Row[]>;
  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Row[]>;
}

type SearchText<Row> = (db: Queryable, text: string, limit: number) => Promise<readonly Row[]>;
type SearchAmounts<Row> = (db: Queryable, amounts: CurrencyAmounts, limit: number) => Promise<readonly Row[]>;

/** The stores of all objects, as far as a search needs them. */
export interface SearchedStores {
  readonly customers: RowFinder<Customer> & {
    readonly searchPeople: SearchText<Customer>;
    readonly searchExternalIds: SearchText<Customer>;
    findLive(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]>;
  };
  readonly plans: RowFinder<Plan> & {
    find(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]>;
    findByProductIds(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]>;
    readonly searchNames: SearchText<Plan>;
  };
  readonly payments: RowFinder<Payment> & {
    readonly findByChargeId: SearchText<Payment>;
    readonly findByLast4: SearchText<Payment>;
    readonly findByAmounts: SearchAmounts<Payment>;
  };
  readonly refunds: RowFinder<Refund>;
  readonly subscriptions: RowFinder<Subscription>;
  readonly invoices: RowFinder<Invoice> & {
    readonly searchNumbers: SearchText<Invoice>;
    readonly findByAmounts: SearchAmounts<Invoice>;
  };
  readonly checkouts: RowFinder<Checkout>;
  readonly webhookEvents: { find(db: Queryable, id: string): Promise<WebhookEvent | undefined> };
  readonly events: { find(db: Queryable, place: EventPlace): Promise<StoredEvent | undefined> };
}

/** One search, with the results of all sources. */
interface Search {
  readonly db: Queryable;
  readonly text: string;
  readonly stores: SearchedStores;
}

/**
 * Everything that matches a text. All statements are sent together. Each uses an index, and returns at most as many
 * rows as a search shows.
 */
export async function findMatches(
  db: Queryable,
  stores: SearchedStores,
  text: string,
  { withWebhookEvents }: { readonly withWebhookEvents: boolean },
): Promise<readonly Match[]> {
  const search: Search = { db, text, stores };
  const { customers, plans, payments, refunds, subscriptions, invoices, checkouts } = stores;
  const found = await Promise.all([
    ofMirror(search, customers, showCustomer),
    ofMirror(search, plans, showPlan),
    ofMirror(search, payments, showPayment),
    ofMirror(search, refunds, showRefund),
    ofMirror(search, subscriptions, showSubscription),
    ofMirror(search, invoices, showInvoice),
    ofMirror(search, checkouts, showCheckout),
    ofVisible(text, async () => toMatches('processorId', await plans.findByProductIds(db, [text]), showPlan)),
    ofVisible(text, async () =>
      toMatches('processorId', await payments.findByChargeId(db, text, resultsMax), showPayment),
    ),
    ofVisible(text, async () =>
      matchesOf(
        await customers.searchExternalIds(db, text, resultsMax),
        showCustomer,
        ['externalId'],
        caseless(text),
      ),
    ),
    ofPeople(search),
    ofPlanNames(search),
    ofSharedValues(search),
    invoices
      .searchNumbers(db, text, resultsMax)
      .then((rows) => matchesOf(rows, showInvoice, ['number'], caseless(text))),
    ofVisible(text, async () => {
      const event = withWebhookEvents ? await stores.webhookEvents.find(db, text) : undefined;
      return event === undefined ? [] : toMatches('processorId', [event], showWebhookEvent);
    }),
    findEvent(search),
  ]);
  return found.flat();
}

/** Names and emails of customers. If both have the text, the better match counts. */
async function ofPeople({ db, text, stores: { customers } }: Search): Promise<readonly Match[]> {
  const rows = await customers.searchPeople(db, text, resultsMax);
  const compare = comparedWith(text);
  const email = caseless(text);
  return matchesOf(rows, showCustomer, ['name', 'email'], (value, field) => {
    const found = compare(value);
    // With an accent it is the address of another person.
    return found === undefined || field === 'name'
      ? found
      : { ...found, exact: email(value)?.exact ?? false };
  });
}

async function ofPlanNames({ db, text, stores: { plans } }: Search): Promise<readonly Match[]> {
  return matchesOf(await plans.searchNames(db, text, resultsMax), showPlan, ['name'], comparedWith(text));
}

/** Values that many objects can have: the last four digits of a card, and amounts. */
async function ofSharedValues({ db, text, stores }: Search): Promise<readonly Match[]> {
  const { payments, invoices } = stores;
  const amounts = amountsOf(text);
  const [byCard, paid, billed] = await Promise.all([
    isLast4(text) ? payments.findByLast4(db, text, resultsMax) : [],
    amounts.length > 0 ? payments.findByAmounts(db, amounts, resultsMax) : [],
    amounts.length > 0 ? invoices.findByAmounts(db, amounts, resultsMax) : [],
  ]);
  return [
    ...toMatches('last4', byCard, showPayment),
    ...toMatches('amount', paid, showPayment),
    ...toMatches('amount', billed, showInvoice),
  ];
}

async function ofMirror<Row>(
  { db, text }: Search,
  reader: RowFinder<Row>,
  show: (row: Row) => Found | undefined,
): Promise<readonly Match[]> {
  const range = idRange(text);
  const [byId, byKey] = await Promise.all([
    range === undefined ? [] : reader.findBetween(db, range.from, range.to, resultsMax),
    isVisible(text) ? reader.findByKeys(db, [text]) : [],
  ]);
  return [...toMatches('id', byId, show, range?.exact), ...toMatches('processorId', byKey, show)];
}

async function ofVisible(text: string, find: () => Promise<readonly Match[]>): Promise<readonly Match[]> {
  return isVisible(text) ? find() : [];
}

async function findEvent({ db, text, stores }: Search): Promise<readonly Match[]> {
  const place = parseEventId(text);
  const event = place === undefined ? undefined : await stores.events.find(db, place);
  return event === undefined ? [] : toMatches('id', [event], showEvent);
}

function toMatches<Row>(
  matched: MatchedField,
  rows: readonly Row[],
  show: (row: Row) => Found | undefined,
  exact = true,
): readonly Match[] {
  return rows.flatMap((row) => {
    const shown = show(row);
    return shown === undefined ? [] : [{ ...shown, matched, exact, begins: true }];
  });
}

/**
 * Matches for the fields that contain the text. PostgreSQL has found the text in the row, but its words may be in
 * several fields, and the lower case of a few letters depends on the database. Such a row matches by its first field,
 * and comes after the others.
 */
function matchesOf<Field extends MatchedField, Row extends Readonly<Partial<Record<Field, string | null>>>>(
  rows: readonly Row[],
  show: (row: Row) => Found,
  fields: readonly [Field, ...Field[]],
  compare: (value: string, field: Field) => Comparison | undefined,
): readonly Match[] {
  return rows.flatMap((row) => {
    const found = fields.flatMap((matched) => {
      const comparison = compare(row[matched] ?? '', matched);
      return comparison === undefined ? [] : [{ ...show(row), matched, ...comparison }];
    });
    return found.length > 0 ? found : [{ ...show(row), matched: fields[0], exact: false, begins: false }];
  });
}

/** Compares values with a text, ignoring case. External ids were compared exactly. */
function caseless(text: string): (value: string) => Comparison | undefined {
  const part = text.toLowerCase();
  return (value) => {
    const whole = value.toLowerCase();
    return whole.includes(part) ? { exact: whole === part, begins: whole.startsWith(part) } : undefined;
  };
}

const nothing = {
  customerId: null,
  paymentId: null,
  planId: null,
  personalLabel: null,
  description: null,
  status: null,
  amount: null,
  currency: null,
};

function showCustomer(row: Customer): Found {
  const { id, email, name, createdAt, deletedAt } = row;
  const shown = { ...nothing, objectType: 'customer' as const, objectId: id, customerId: id, createdAt };
  if (deletedAt !== null) return { ...shown, label: row.processorCustomerId, status: 'deleted' };
  return { ...shown, label: name ?? email ?? row.processorCustomerId, description: email };
}

function showPlan({ id, name, amount, currency, interval, active, createdAt }: Plan): Found {
  const status = active ? 'active' : 'archived';
  const shown = { objectType: 'plan' as const, objectId: id, label: name, description: interval };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}

function showPayment(row: Payment): Found {
  const { id, customerId, status, amount, currency, createdAt } = row;
  const label = row.processorPaymentIntentId;
  const shown = { objectType: 'payment' as const, objectId: id, customerId, label };
  const personalLabel = row.description;
  return { ...nothing, ...shown, personalLabel, status, amount, currency, createdAt };
}

/** A refund that the processor has not confirmed yet is a reservation, which the API does not show. */
function showRefund(row: Refund): Found | undefined {
  const { id, customerId, paymentId, status, amount, currency, createdAt, processorRefundId } = row;
  if (processorRefundId === null) return undefined;
  const shown = {
    objectType: 'refund' as const,
    objectId: id,
    customerId,
    paymentId,
    label: processorRefundId,
  };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}

function showSubscription(row: Subscription): Found {
  const { id, customerId, planId, status, createdAt } = row;
  const label = row.processorSubscriptionId;
  const shown = { objectType: 'subscription' as const, objectId: id, customerId, planId, label };
  return { ...nothing, ...shown, status, createdAt };
}

function showInvoice(row: Invoice): Found {
  const { id, customerId, status, amountDue, currency, createdAt } = row;
  const label = row.number ?? row.processorInvoiceId;
  const shown = { objectType: 'invoice' as const, objectId: id, customerId, label };
  return { ...nothing, ...shown, status, amount: amountDue, currency, createdAt };
}

function showCheckout(row: Checkout): Found {
  const { id, customerId, planId, status, amount, currency, createdAt } = row;
  const label = row.processorCheckoutSessionId;
  const shown = { objectType: 'checkout' as const, objectId: id, customerId, planId, label };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}

function showWebhookEvent({ id, type, objectId, state, createdAt }: WebhookEvent): Found {
  const shown = { objectType: 'webhook_event' as const, objectId: id, label: type, description: objectId };
  return { ...nothing, ...shown, status: state, createdAt };
}

function showEvent(event: StoredEvent): Found {
  const { type, customerId, objectId, createdAtMs } = event;
  const shown = { objectType: 'event' as const, objectId: eventId(event), customerId, label: type };
  return { ...nothing, ...shown, description: objectId, createdAt: new Date(createdAtMs) };
}
