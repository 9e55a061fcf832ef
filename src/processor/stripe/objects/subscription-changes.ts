import type { Stripe } from 'stripe';
import type {
  ChangePreview,
  ItemChange,
  PreviewLine,
  SubscriptionChangeCalls,
} from '../../port/subscription-change-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, isMissing, missing, refused } from '../wire/attempt.ts';
import { WireObject } from '../wire/wire-object.ts';
import { hasMoreLines, readLines } from './invoice-lines.ts';
import {
  changeMarksKey,
  mapChangeable,
  mapCharge,
  mapPreview,
  mapPreviewLine,
} from './map-subscription-change.ts';
import { termExpansions } from './map-subscription-terms.ts';

const expand = [...termExpansions];

/** A request that dies is repeated or looked up within minutes, so few voided invoices are newer than its own. */
const voidedInvoicesMax = 10;

const prorationBehaviors = {
  nextInvoice: 'create_prorations',
  invoice: 'always_invoice',
  none: 'none',
} as const satisfies Record<ItemChange['proration'], Stripe.SubscriptionUpdateParams.ProrationBehavior>;

/** A preview whose lines are still to be read, unless the invoice shows all of them. */
interface Previewed extends Omit<ChangePreview, 'lines'> {
  readonly id: string;
  readonly shown: readonly PreviewLine[] | null;
}

export function createSubscriptionChangeCalls(context: AdapterContext): SubscriptionChangeCalls {
  const { stripe, call } = context;
  return {
    read: (processorSubscriptionId) =>
      call('subscriptions.read', {
        kind: 'read',
        send: (options) => stripe.subscriptions.retrieve(processorSubscriptionId, { expand }, options),
        take: mapChangeable,
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),

    change: ({ idempotencyKey, changeMarks, ...change }) =>
      call('subscriptions.update', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptions.update(
            change.processorSubscriptionId,
            // What is not paid at once must not be had: the change then waits as a pending update.
            {
              ...changeParams(change),
              payment_behavior: 'pending_if_incomplete',
              metadata: { [changeMarksKey]: changeMarks.join(' ') },
              expand,
            },
            { ...options, idempotencyKey },
          ),
        take: (response, asOf) => done(mapChangeable(response, asOf), response),
        refused: missing,
      }),

    readCharge: (processorInvoiceId) =>
      call('invoices.read', {
        kind: 'read',
        send: (options) =>
          stripe.invoices.retrieve(
            processorInvoiceId,
            { expand: ['payments.data.payment.payment_intent'] },
            options,
          ),
        take: mapCharge,
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),

    voidInvoice: ({ processorInvoiceId, idempotencyKey }) =>
      call('invoices.void', {
        kind: 'write',
        send: (options) =>
          stripe.invoices.voidInvoice(processorInvoiceId, {}, { ...options, idempotencyKey }),
        take: () => done(null),
        // The call carries none of the caller's values, so any other refusal is about the invoice's state.
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),

    listVoidedChanges: (subscription) =>
      call('invoices.list', {
        kind: 'read',
        send: (options) =>
          stripe.invoices.list({ subscription, status: 'void', limit: voidedInvoicesMax }, options),
        take: (response) =>
          WireObject.parse(response, 'list')
            .array('data')
            .map((value) => WireObject.parse(value, 'invoice').expectKind('invoice'))
            .filter((invoice) => invoice.optionalText('billing_reason') === 'subscription_update')
            .map((invoice) => invoice.id()),
      }),

    preview: createPreview(context),
  };
}

function createPreview(context: AdapterContext): SubscriptionChangeCalls['preview'] {
  const { stripe, call } = context;
  return async (change) => {
    const attempt = await call('invoices.preview', {
      kind: 'read',
      send: (options) =>
        stripe.invoices.createPreview(
          {
            subscription: change.processorSubscriptionId,
            subscription_details: 'resumes' in change ? { resume_at: 'now' } : changeParams(change),
          },
          options,
        ),
      take: (response, asOf) => {
        const invoice = WireObject.parse(response, 'invoice');
        const shown = hasMoreLines(invoice) ? null : invoice.list('lines').map(mapPreviewLine);
        return done<Previewed | null>({ ...mapPreview(response, asOf), id: invoice.id(), shown });
      },
      refused: (refusal) => (refusal.code === 'invoice_upcoming_none' ? done(null) : missing(refusal)),
    });
    if (attempt.outcome !== 'done') return attempt;
    if (attempt.value === null) return done(null);
    const { id, shown, ...preview } = attempt.value;
    const lines = shown ?? (await readLines(context, id)).map(mapPreviewLine);
    return done({ ...preview, lines });
  };
}

/** The same parameters for a change and its preview, so that both cost the same. */
function changeParams(change: ItemChange) {
  const { processorItemId, processorPriceId, quantity, proration, prorationDate, startsPeriod } = change;
  return {
    items: [
      {
        id: processorItemId,
        ...(processorPriceId === undefined ? {} : { price: processorPriceId }),
        ...(quantity === undefined ? {} : { quantity }),
      },
    ],
    proration_behavior: prorationBehaviors[proration],
    ...(prorationDate === undefined ? {} : { proration_date: prorationDate.getTime() / 1_000 }),
    ...(startsPeriod ? { billing_cycle_anchor: { type: 'now' as const } } : {}),
  };
}
