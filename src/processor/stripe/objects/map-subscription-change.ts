import type { AsOf } from '../../../model/facts.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type {
  ChangeableItem,
  ChangeableSubscription,
  ChangePreview,
  ChargeDecline,
  InvoiceCharge,
  PendingUpdate,
  PreviewLine,
} from '../../port/subscription-change-calls.ts';
import { redactText } from '../events/redact-secrets.ts';
import { clientSecretOf } from '../wire/client-secret.ts';
import { fieldsOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { mapSubscription } from './map-subscription.ts';
import { quantityOf } from './map-subscription-terms.ts';

const invoiceStatuses = ['draft', 'open', 'paid', 'uncollectible', 'void'] as const;

export function mapChangeable(value: unknown, asOf: AsOf): ChangeableSubscription {
  const subscription = WireObject.parse(value, 'subscription');
  const facts = mapSubscription(withKnownLinks(value, { localId: null, customer: null }), asOf);
  const wireItems = subscription.list('items');
  const [first, ...others] = facts.items.map(({ processorPriceId }) => {
    // A subscription has at most one item of a price.
    const item = wireItems.find((one) => one.reference('price') === processorPriceId);
    if (item === undefined) throw new UnmappableError(`subscription.items has no ${processorPriceId}`);
    return mapItem(item);
  });
  if (first === undefined) throw new UnmappableError('subscription.items.data[0] is missing');
  return {
    subscription: facts,
    isPaused: subscription.text('status') === 'paused',
    currency: subscription.currency('currency'),
    items: [first, ...others],
    processorScheduleId: subscription.optional('reference', 'schedule'),
    pendingUpdate: pendingUpdateOf(subscription),
    changeMarks: changeMarksOf(subscription),
  };
}

function mapItem(item: WireObject): ChangeableItem {
  const price = item.object('price');
  const recurring = price.object('recurring');
  return {
    processorItemId: item.id(),
    processorPriceId: price.id(),
    quantity: quantityOf(item),
    interval: `${recurring.wholeNumber('interval_count')} ${recurring.text('interval')}`,
    unitAmount: price.optional('wholeNumber', 'unit_amount'),
  };
}

function pendingUpdateOf(subscription: WireObject): PendingUpdate | null {
  const update = subscription.optional('object', 'pending_update');
  if (update === null) return null;
  const items = ifReadable(() =>
    update.objects('subscription_items').map((item) => ({
      processorPriceId: item.reference('price'),
      quantity: quantityOf(item),
    })),
  );
  return {
    // The processor bills a pending update with the latest invoice.
    processorInvoiceId: subscription.optional('reference', 'latest_invoice'),
    items: items ?? [],
    changeMarks: changeMarksOf(update),
  };
}

/** The metadata key under which a subscription carries the marks of its changes. */
export const changeMarksKey = 'till_changes';

function changeMarksOf(object: WireObject): readonly string[] {
  const marks = fieldsOf(object)?.[changeMarksKey];
  return typeof marks === 'string' ? marks.split(' ') : [];
}

/** Maps an invoice with `payments.data.payment.payment_intent` expanded. The newest payment counts. */
export function mapCharge(value: unknown): InvoiceCharge {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const intents = (ifReadable(() => invoice.list('payments')) ?? []).flatMap((payment) => {
    const intent = payment.optional('object', 'payment')?.optional('object', 'payment_intent');
    return intent == null ? [] : [{ intent, createdAt: payment.createdAt(new Date(0)) }];
  });
  const [newest] = intents.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  const status = invoice.oneOf('status', invoiceStatuses);
  return {
    status,
    createdAt: invoice.createdAt(new Date(0)),
    decline: newest === undefined ? null : declineOf(newest.intent),
    clientSecret: newest === undefined || status !== 'open' ? null : clientSecretOf(newest.intent),
  };
}

/** Enough for the processor's longest messages. */
const messageLengthMax = 500;

/** Statuses of a payment intent whose last attempt is over. Voiding its invoice cancels it. */
const failed: readonly string[] = ['requires_payment_method', 'canceled'];

function declineOf(intent: WireObject): ChargeDecline | null {
  if (!failed.includes(intent.text('status'))) return null;
  const error = intent.optional('object', 'last_payment_error');
  // The bank asks for the customer, who can still authenticate with the same card.
  if (error === null || error.optionalText('code') === 'authentication_required') return null;
  return {
    message:
      redactText(error.optionalText('message') ?? '').slice(0, messageLengthMax) ||
      'The payment was declined.',
    declineCode: error.optionalText('decline_code'),
  };
}

/** Without its lines, of which the invoice may show only some. */
export function mapPreview(value: unknown, asOf: AsOf): Omit<ChangePreview, 'lines'> {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const details = invoice.optional('object', 'parent')?.optional('object', 'subscription_details');
  return {
    amountDue: invoice.wholeNumber('amount_due'),
    currency: invoice.currency('currency'),
    prorationDate: details?.optionalMoment('subscription_proration_date') ?? null,
    now: invoice.optionalMoment('created') ?? asOf.latest,
  };
}

export function mapPreviewLine(line: WireObject): PreviewLine {
  const period = line.object('period');
  return {
    description: line.optionalText('description'),
    amount: line.wholeNumber('amount'),
    periodStart: period.moment('start'),
    periodEnd: period.moment('end'),
    proration: isProration(line),
  };
}

function isProration(line: WireObject): boolean {
  const parent = line.optional('object', 'parent');
  const details = parent?.optional('object', parent.optionalText('type') ?? '');
  return details?.optional('flag', 'proration') ?? false;
}
