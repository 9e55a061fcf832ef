import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Stripe } from 'stripe';
import type { Sql } from '../backend.ts';
import { checkoutExpansions, checkoutRows, checkoutTruth } from './checkout-truth.ts';
import {
  coversUntilTruth,
  idOf,
  reasonTruth,
  subscriptionRows,
  subscriptionTruth,
} from './subscription-truth.ts';

/** Rows of a mirror by the processor's ids, as plain values that can be compared. */
type Mirror = Record<string, object>;

interface Mirrors {
  readonly customers: Mirror;
  readonly plans: Mirror;
  readonly payments: Mirror;
  readonly refunds: Mirror;
  readonly subscriptions: Mirror;
  readonly invoices: Mirror;
  readonly checkouts: Mirror;
}

/** The processor's ids of what Till must have rows of. */
export interface MirroredIds {
  readonly customers: ReadonlySet<string>;
  /** The payment intents that Till created. Others have rows if a subscription charged them. */
  readonly paymentIntents: ReadonlySet<string>;
}

/** The metadata field with which the processor's objects name Till's. */
const tillIdKey = 'till_id';

/** The ids of all customers that exist, of those that were deleted, and of all payment intents that Till created. */
export async function readMirroredIds(
  stripe: Stripe,
  deletedCustomers: readonly string[] = [],
): Promise<MirroredIds> {
  const customers = await listAll(stripe.customers.list({ limit: 100 }));
  const intents = await listAll(stripe.paymentIntents.list({ limit: 100 }));
  return {
    customers: new Set([...customers.map(({ id }) => id), ...deletedCustomers]),
    paymentIntents: new Set(intents.filter(isOfTill).map(({ id }) => id)),
  };
}

/** Whether Till created this object. */
export function isOfTill({ metadata }: { readonly metadata: Stripe.Metadata | null }): boolean {
  return metadata !== null && tillIdKey in metadata;
}

/** Every mirror row equals the processor's own object, read through the official client, and there are no others. */
export async function assertMirrored(stripe: Stripe, sql: Sql, ids: MirroredIds): Promise<void> {
  const mirrors = await readMirrors(sql);
  const truth = await readTruth(stripe, ids, (intentId) => intentId in mirrors.payments);
  const differing = (Object.keys(truth) as (keyof Mirrors)[]).flatMap((resource) =>
    differences(resource, truth[resource], mirrors[resource]),
  );
  assert.deepEqual(differing, []);
}

function differences(resource: string, truth: Mirror, mirror: Mirror): readonly object[] {
  const ids = new Set([...Object.keys(truth), ...Object.keys(mirror)]);
  return [...ids].flatMap((id) => {
    const [expected, actual] = [truth[id] ?? 'no row', mirror[id] ?? 'no row'];
    return isDeepStrictEqual(plain(expected), plain(actual)) ? [] : [{ resource, id, expected, actual }];
  });
}

/** Without fields that are undefined, which JSON leaves out. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The metadata as Till shows it, and the external id that it hides there. */
function ownTruth(metadata: Stripe.Metadata): object {
  const entries = Object.entries(metadata).filter(([key]) => !key.startsWith('till_'));
  return { externalId: metadata['till_external_id'] ?? null, metadata: Object.fromEntries(entries) };
}

/** The metadata of what belongs to a customer. It is erased with the customer. */
function ownedTruth(
  object: Pick<Stripe.PaymentIntent | Stripe.Subscription | Stripe.Checkout.Session, 'customer' | 'metadata'>,
  live: ReadonlyMap<string, unknown>,
): object {
  return live.has(idOf(object.customer) ?? '') ? Object(ownTruth(object.metadata ?? {})).metadata : {};
}

/** What subscriptions charge: the payment intents that pay their invoices, by their ids. */
interface Charge {
  readonly invoice: string;
  readonly subscription: string;
}

async function readCharges(
  stripe: Stripe,
  invoices: readonly Stripe.Invoice[],
): Promise<ReadonlyMap<string, Charge>> {
  const subscriptionOf = new Map(
    invoices.map(({ id, parent }) => [id, idOf(parent?.subscription_details?.subscription ?? null)]),
  );
  const payments = await listAll(stripe.invoicePayments.list({ limit: 100 }));
  return new Map(
    payments.flatMap(({ invoice, payment }) => {
      const [intent, id] = [idOf(payment.payment_intent ?? null), idOf(invoice) ?? ''];
      const subscription = subscriptionOf.get(id);
      return intent !== null && subscription ? [[intent, { invoice: id, subscription }] as const] : [];
    }),
  );
}

/** Whether there was an attempt to pay. The processor may forget one that was broken off: then a row may exist. */
function isTried({ status, latest_charge, last_payment_error }: Stripe.PaymentIntent): boolean {
  const isUnderWay = ['requires_action', 'requires_capture', 'processing', 'succeeded'].includes(status);
  return isUnderWay || latest_charge !== null || last_payment_error !== null;
}

async function readTruth(
  stripe: Stripe,
  ids: MirroredIds,
  hasRow: (intentId: string) => boolean,
): Promise<Mirrors> {
  const limit = 100;
  const live = new Map((await listAll(stripe.customers.list({ limit }))).map((one) => [one.id, one]));
  const prices = await listAll(stripe.prices.list({ limit, expand: ['data.product'] }));
  const expand = ['data.latest_charge'];
  const discounts = ['data.discounts.source.coupon', 'data.discounts.promotion_code'];
  const invoices = await listAll(stripe.invoices.list({ limit, expand: discounts }));
  const charges = await readCharges(stripe, invoices);
  const intents = (await listAll(stripe.paymentIntents.list({ limit, expand }))).filter(
    (intent) =>
      ids.paymentIntents.has(intent.id) || (charges.has(intent.id) && (isTried(intent) || hasRow(intent.id))),
  );
  const paymentIds = new Set(intents.map(({ id }) => id));
  const refunds = (await listAll(stripe.refunds.list({ limit }))).filter(({ payment_intent }) =>
    paymentIds.has(idOf(payment_intent) ?? ''),
  );
  const disputes = Map.groupBy(await listAll(stripe.disputes.list({ limit })), ({ payment_intent }) =>
    idOf(payment_intent),
  );
  const terms = [...discounts, 'data.schedule'];
  const subscriptions = await listAll(stripe.subscriptions.list({ limit, status: 'all', expand: terms }));
  const sessions = await listAll(stripe.checkout.sessions.list({ limit, expand: checkoutExpansions }));
  return {
    customers: byId([...ids.customers], (id) => [id, customerTruth(live.get(id))]),
    // A price that bills usage or is paid once cannot be a Till plan.
    plans: byId(
      prices.filter(({ recurring }) => recurring?.usage_type === 'licensed'),
      planTruth,
    ),
    payments: byId(intents, (intent) => [
      intent.id,
      {
        ...paymentTruth(intent, refunds, charges.get(intent.id)),
        dispute: disputeTruth(disputes.get(intent.id)),
        metadata: ownedTruth(intent, live),
      },
    ]),
    refunds: byId(refunds, ({ id, amount, currency, status, payment_intent, balance_transaction }) => [
      id,
      // In the sandbox, all that has succeeded moves money, except for a release.
      {
        ...{ payment: idOf(payment_intent), amount, currency, status },
        kind: status === 'succeeded' && balance_transaction === null ? 'release' : 'refund',
      },
    ]),
    subscriptions: byId(subscriptions, (one) => {
      const [id, truth] = subscriptionTruth(one, invoices, prices);
      const reason = live.has(idOf(one.customer) ?? '') ? reasonTruth(one) : null;
      return [id, { ...truth, metadata: ownedTruth(one, live), reason }];
    }),
    invoices: byId(invoices, invoiceTruth),
    checkouts: byId(sessions.filter(isOfTill), (session) => [
      session.id,
      { ...checkoutTruth(session), metadata: ownedTruth(session, live) },
    ]),
  };
}

function customerTruth(customer: Stripe.Customer | undefined): object {
  if (customer === undefined)
    return { email: null, name: null, phone: null, deleted: true, externalId: null, metadata: {} };
  const { email, name, phone, metadata } = customer;
  return { email, name: name ?? null, phone: phone ?? null, deleted: false, ...ownTruth(metadata) };
}

function planTruth(price: Stripe.Price): [string, object] {
  const { product, unit_amount: amount, currency, recurring, active } = price;
  assert(typeof product === 'object' && !product.deleted);
  const recurrence = { interval: recurring?.interval, intervalCount: recurring?.interval_count };
  const truth = { product: product.id, name: product.name, amount, currency, ...recurrence };
  const { metadata } = Object(ownTruth(product.metadata));
  const own = {
    features: featuresTruth(product.metadata),
    group: product.metadata['till_group'] ?? null,
    repeatable: price.metadata['till_repeatable'] !== 'false',
  };
  return [price.id, { ...truth, active: active && product.active, metadata, ...own }];
}

/** The features are JSON objects in several values of the metadata. */
function featuresTruth(metadata: Stripe.Metadata): object {
  const texts = Object.entries(metadata).filter(([key]) => key.startsWith('till_features_'));
  return Object.assign({}, ...texts.map(([, text]) => JSON.parse(text)));
}

function paymentTruth(
  intent: Stripe.PaymentIntent,
  refunds: readonly Stripe.Refund[],
  charge: Charge | undefined,
): object {
  const { id, customer, amount, amount_received: received, currency } = intent;
  const returned = refunds
    .filter(({ payment_intent, status }) => payment_intent === id && !isUndone(status))
    .reduce((sum, refund) => sum + refund.amount, 0);
  // The processor refunds what was authorised and never captured, which no one received.
  const isFinal = intent.status === 'succeeded' || intent.status === 'canceled';
  const refunded = Math.max(returned - (isFinal ? amount - received : 0), 0);
  const status = intent.status === 'requires_capture' ? 'requires_action' : intent.status;
  const isRefunded = status === 'succeeded' && refunded >= received;
  return {
    customer: idOf(customer),
    amount,
    received,
    refunded,
    currency,
    status: isRefunded ? 'refunded' : status,
    capturable: intent.amount_capturable,
    description: charge === undefined ? intent.description : null,
    invoice: charge?.invoice ?? null,
    subscription: charge?.subscription ?? null,
    failure: status === 'succeeded' ? null : failureTruth(intent.last_payment_error),
    ...chargeTruth(intent.latest_charge),
  };
}

function failureTruth(error: Stripe.PaymentIntent['last_payment_error']): object | null {
  if (error === null) return null;
  const { code = null, decline_code: declineCode = null, message = null } = error;
  return { code, declineCode, message };
}

function chargeTruth(charge: string | Stripe.Charge | null): object {
  assert(typeof charge !== 'string');
  const card = charge?.payment_method_details?.card;
  if (charge === null || card == null) return { charge: null, card: null, captureBefore: null };
  const { brand, last4, exp_month: expMonth, exp_year: expYear } = card;
  return {
    charge: charge.id,
    card: { id: charge.payment_method, type: 'card', brand, last4, expMonth, expYear },
    captureBefore: card.capture_before ?? null,
  };
}

/** The newest dispute, of two in one second the one with the greater id. */
function disputeTruth(disputes: readonly Stripe.Dispute[] = []): object | null {
  const [newest] = disputes.toSorted((a, b) => b.created - a.created || (a.id > b.id ? -1 : 1));
  if (newest === undefined) return null;
  const { id, status, amount, currency, reason, evidence_details: details } = newest;
  return { id, status, amount, currency, reason, dueBy: details.due_by };
}

function isUndone(status: string | null): boolean {
  return status === 'failed' || status === 'canceled';
}

function invoiceTruth(invoice: Stripe.Invoice): [string, object] {
  const { amount_due: due, amount_paid: paid, currency, status, hosted_invoice_url: url } = invoice;
  const customer = idOf(invoice.customer);
  const subscription = idOf(invoice.parent?.subscription_details?.subscription ?? null);
  const details = {
    number: invoice.number,
    remaining: invoice.amount_remaining,
    pdf: invoice.invoice_pdf ?? null,
    attempts: invoice.attempt_count,
    nextAttempt: invoice.next_payment_attempt,
    periodStart: invoice.period_start,
    periodEnd: invoice.period_end,
    coversUntil: coversUntilTruth(invoice),
  };
  const amounts = { due, paid, currency, status, url: url ?? null };
  return [invoice.id ?? '', { customer, processorCustomer: customer, subscription, ...amounts, ...details }];
}

async function readMirrors(sql: Sql): Promise<Mirrors> {
  const read = async (text: string): Promise<Mirror> => {
    const rows = await sql<{ key: string; value: object }>(text);
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  };
  return {
    customers: await read(
      `select processor_customer_id as key,
         json_build_object('email', email, 'name', name, 'phone', phone, 'deleted', deleted_at is not null,
           'externalId', external_id, 'metadata', metadata) as value
       from till.customers`,
    ),
    plans: await read(
      `select processor_price_id as key, json_build_object('product', processor_product_id, 'name', name,
         'amount', amount, 'currency', currency, 'interval', interval, 'active', active, 'metadata', metadata,
         'intervalCount', interval_count, 'features', features, 'group', group_name, 'repeatable', repeatable) as value
       from till.plans`,
    ),
    payments: await read(
      `select processor_payment_intent_id as key, json_build_object('customer', customers.processor_customer_id,
         'amount', amount, 'received', amount_received, 'refunded', amount_refunded, 'currency', payments.currency,
         'status', payments.status, 'capturable', amount_capturable, 'description', description,
         'invoice', invoices.processor_invoice_id, 'subscription', subscriptions.processor_subscription_id,
         'failure', case when failure is not null then json_build_object('code', failure->'code',
           'declineCode', failure->'declineCode', 'message', failure->'message') end,
         'charge', processor_charge_id,
         'card', case when payment_method is not null then json_build_object('id', payment_method->'id',
           'type', payment_method->'type', 'brand', payment_method->'brand', 'last4', payment_method->'last4',
           'expMonth', payment_method->'expMonth', 'expYear', payment_method->'expYear') end,
         'captureBefore', extract(epoch from capture_before)::bigint,
         'metadata', coalesce(payments.metadata, '{}'),
         'dispute', case when dispute is not null then json_build_object('id', dispute->'processorDisputeId',
           'status', dispute->'status', 'amount', dispute->'amount', 'currency', dispute->'currency',
           'reason', dispute->'reason',
           'dueBy', extract(epoch from (dispute->>'evidenceDueBy')::timestamptz)::bigint) end) as value
       from till.payments join till.customers on customers.id = payments.customer_id
         left join till.invoices on invoices.processor_invoice_id = payments.processor_invoice_id
         left join till.subscriptions
           on subscriptions.processor_subscription_id = payments.processor_subscription_id`,
    ),
    refunds: await read(
      `select coalesce(processor_refund_id, 'reserved ' || refunds.id) as key,
         json_build_object('payment', processor_payment_intent_id, 'amount', refunds.amount,
           'currency', refunds.currency, 'status', refunds.status, 'kind', refunds.kind) as value
       from till.refunds join till.payments on payments.id = payment_id`,
    ),
    subscriptions: await read(subscriptionRows),
    checkouts: await read(checkoutRows),
    invoices: await read(
      `select processor_invoice_id as key, json_build_object('customer', customers.processor_customer_id,
         'processorCustomer', invoices.processor_customer_id, 'subscription', processor_subscription_id,
         'due', amount_due, 'paid', amount_paid, 'currency', currency, 'status', status,
         'url', hosted_invoice_url, 'number', number, 'remaining', amount_remaining, 'pdf', invoice_pdf_url,
         'attempts', attempt_count, 'nextAttempt', extract(epoch from next_payment_attempt_at)::bigint,
         'periodStart', extract(epoch from period_start)::bigint,
         'periodEnd', extract(epoch from period_end)::bigint,
         'coversUntil', extract(epoch from covers_until)::bigint) as value
       from till.invoices left join till.customers on customers.id = customer_id`,
    ),
  };
}

function byId<T>(items: readonly T[], entryOf: (item: T) => [string, object]): Mirror {
  return Object.fromEntries(items.map(entryOf));
}

/** Far more than a world or a load creates. */
const objectsMax = 2_000_000;

/** Every object of a list, page after page. */
export async function listAll<T>(list: Stripe.ApiListPromise<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) {
    found.push(one);
    assert.ok(found.length <= objectsMax, `more than ${objectsMax} objects in one list`);
  }
  return found;
}
