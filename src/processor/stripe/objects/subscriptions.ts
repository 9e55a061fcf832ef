import type { Stripe } from 'stripe';
import type { AsOf } from '#core/model/facts.ts';
import type { SubscriptionChange, SubscriptionFacts } from '#core/model/subscription.ts';
import type { Attempt } from '../../port/attempt.ts';
import type { SubscriptionInvoice, SubscriptionToPay } from '../../port/invoice-payment.ts';
import type { NewSubscription, SubscriptionCalls, SubscriptionWithSecrets } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { createdSince, fetchFrom, mapPages } from '../wire/listing.ts';
import { findMarked, withRequest } from '../wire/request-marks.ts';
import {
  clientSecretOf,
  done,
  missing,
  missingOrWrongState,
  nullIfMissing,
  sinceCreation,
  warnOfMissingSecret,
} from '../wire/responses.ts';
import { changedMetadata, creationMetadata, withSentMetadata } from '../wire/wire-metadata.ts';
import { ifReadable, type KnownLinks, noLinks, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { mapInvoice } from './map-invoice.ts';
import { defaultOfSubscription } from './map-payment-method.ts';
import {
  clientSecretOfSubscription,
  mapSubscription,
  setupSecretOf,
  termExpansions,
  termExpansionsInList,
} from './map-subscription.ts';
import { readSubscription } from './read-subscription.ts';

const expand = ['latest_invoice.confirmation_secret', 'pending_setup_intent', ...termExpansions];

export function createSubscriptionCalls(context: AdapterContext): SubscriptionCalls {
  const { stripe, call } = context;
  const read = (processorSubscriptionId: string, known: KnownLinks) =>
    readSubscription(context, processorSubscriptionId, {
      expand,
      map: (response, asOf) => withSecrets(response, known, asOf),
    });

  return {
    create: ({ idempotencyKey, ...subscription }) =>
      call.write('subscriptions.create', {
        idempotencyKey,
        send: (options) => stripe.subscriptions.create(creationParams(subscription), options),
        take: (response, asOf) => {
          const { id, processorCustomerId, metadata } = subscription;
          const known = { localId: id, customer: processorCustomerId };
          const sent = withSentMetadata(response, metadata);
          const created = withSecrets(sent, known, sinceCreation(response, asOf));
          const { status, processorSubscriptionId } = created.subscription;
          if (status === 'incomplete' && created.clientSecret === null)
            warnOfMissingSecret(context.logger, 'subscriptions.create', processorSubscriptionId);
          return created;
        },
      }),

    read: (processorSubscriptionId) => read(processorSubscriptionId, noLinks),

    readToPay: (processorSubscriptionId) => readToPay(context, processorSubscriptionId),

    ...createChanges(context),

    find: async ({ mark, since, processorCustomerId: customer }) => {
      const fetch = fetchFrom(stripe.subscriptions, { status: 'all', customer, ...createdSince(since) });
      const found = await findMarked(context, 'subscriptions.list', fetch, mark);
      return found && withRequest(found, await read(found.id, { localId: found.localId, customer }));
    },

    list: ({ processorCustomerId, createdSince: since, isOpen = false, ...place }) => {
      const fetch = fetchFrom(stripe.subscriptions, {
        // Without a status filter, the processor leaves out canceled subscriptions.
        ...(isOpen ? {} : { status: 'all' }),
        expand: termExpansionsInList,
        ...(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        ...(since === undefined ? {} : createdSince(since)),
      });
      return mapPages(context, 'subscriptions.list', fetch, mapSubscription, place);
    },
  };
}

/**
 * Parameters with default values are left out, because a call that is repeated after an upgrade must be the same call.
 */
function creationParams(
  subscription: NewSubscription & Parameters<typeof creationMetadata>[0],
): Stripe.SubscriptionCreateParams {
  const { processorCustomerId, processorPriceId, quantity, addOns = [], trialPeriodDays } = subscription;
  const { paymentMethodId, processorPromotionCodeId, trialEndWithoutCard, metadata } = subscription;
  return {
    customer: processorCustomerId,
    items: [
      { price: processorPriceId, ...(quantity === undefined ? {} : { quantity }) },
      ...addOns.map((addOn) => ({ price: addOn.processorPriceId, quantity: addOn.quantity })),
    ],
    ...firstPaymentParams(paymentMethodId),
    // Without this, renewals would have no payment method to charge.
    payment_settings: { save_default_payment_method: 'on_subscription' },
    ...(processorPromotionCodeId === undefined
      ? {}
      : { discounts: [{ promotion_code: processorPromotionCodeId }] }),
    ...(trialPeriodDays === 0 ? {} : { trial_period_days: trialPeriodDays }),
    ...(trialEndWithoutCard === undefined
      ? {}
      : { trial_settings: { end_behavior: { missing_payment_method: trialEndWithoutCard } } }),
    metadata: { ...metadata, ...creationMetadata(subscription) },
    expand,
  };
}

/**
 * Without a payment method nothing is charged until the frontend confirms the first payment. A given payment method is
 * charged on session, because customers are there when they subscribe. A charge that needs authentication then waits
 * for the customer. Off session it would be declined.
 */
function firstPaymentParams(paymentMethodId: string | undefined): Partial<Stripe.SubscriptionCreateParams> {
  return paymentMethodId === undefined
    ? { payment_behavior: 'default_incomplete' }
    : { payment_behavior: 'allow_incomplete', default_payment_method: paymentMethodId };
}

/** Changes metadata, which is possible in every state, or settings. The end cannot change while there is a schedule. */
export function updateSubscription(
  { stripe, call }: AdapterContext,
  {
    processorSubscriptionId,
    metadata,
    idempotencyKey,
    ...values
  }: Parameters<SubscriptionCalls['update']>[0],
): Promise<Attempt<SubscriptionFacts>> {
  return call.write('subscriptions.update', {
    idempotencyKey,
    send: (options) =>
      stripe.subscriptions.update(
        processorSubscriptionId,
        { ...changedMetadata(metadata), ...settingParams(values), expand: [...termExpansions] },
        options,
      ),
    take: (response, asOf) => done(mapSubscription(withKnownLinks(response, noLinks), asOf), response),
    refused: missing,
  });
}

function createChanges(context: AdapterContext): Pick<SubscriptionCalls, 'update' | 'cancel' | 'resume'> {
  const { stripe, call } = context;
  return {
    update: (change) => updateSubscription(context, change),

    cancel: (processorSubscriptionId, reason) =>
      call.write('subscriptions.cancel', {
        send: (options) =>
          stripe.subscriptions.cancel(
            processorSubscriptionId,
            {
              ...(reason === undefined ? {} : { cancellation_details: { comment: reason } }),
              expand: [...termExpansions],
            },
            options,
          ),
        take: (response, asOf) => done(mapSubscription(withKnownLinks(response, noLinks), asOf)),
        // The call carries only a comment from the caller, so any other refusal is about the subscription's state.
        refused: missingOrWrongState,
      }),

    resume: ({ processorSubscriptionId, period, idempotencyKey }) =>
      call.write('subscriptions.resume', {
        idempotencyKey,
        send: (options) =>
          stripe.subscriptions.resume(
            processorSubscriptionId,
            {
              billing_cycle_anchor: { type: period },
              // The current period is already paid.
              ...(period === 'unchanged' ? { proration_behavior: 'none' } : {}),
            },
            options,
          ),
        take: () => done(null),
        refused: missingOrWrongState,
      }),
  };
}

/** The processor refuses a request with both the flag and the date, even if it clears them. */
function settingParams({
  cancelAtPeriodEnd,
  cancelAt,
  cancellationReason,
  paymentMethodId,
}: SubscriptionChange): Stripe.SubscriptionUpdateParams {
  return {
    ...(cancelAtPeriodEnd === undefined ? {} : { cancel_at_period_end: cancelAtPeriodEnd }),
    ...(cancelAt === undefined ? {} : { cancel_at: '' }),
    ...(cancellationReason === undefined
      ? {}
      : { cancellation_details: { comment: cancellationReason ?? '' } }),
    ...(paymentMethodId === undefined ? {} : { default_payment_method: paymentMethodId }),
  };
}

function withSecrets(response: unknown, known: KnownLinks, asOf: AsOf): SubscriptionWithSecrets {
  return {
    subscription: mapSubscription(withKnownLinks(response, known), asOf),
    clientSecret: clientSecretOfSubscription(response),
    setupClientSecret: setupSecretOf(response),
  };
}

/** The processor's largest page: the invoices of eight years of a monthly plan, and of three months of a daily one. */
const invoicesMax = 100;

/**
 * Two reads, because the latest invoice of a subscription may not be the only unpaid one. The invoices are read first.
 * If one is paid between the reads, the status already includes that payment, and no older invoice is paid in its
 * place.
 */
async function readToPay(context: AdapterContext, id: string): Promise<SubscriptionToPay | null> {
  const { stripe, call } = context;
  const invoices = await call.read('invoices.list', {
    send: (options) => stripe.invoices.list({ subscription: id, limit: invoicesMax }, options),
    take: (response, asOf) =>
      WireObject.parse(response, 'list')
        .array('data')
        .map((value) => mapSubscriptionInvoice(value, asOf)),
    refused: nullIfMissing,
  });
  if (invoices === null) return null;
  return readSubscription(context, id, {
    expand: ['pending_setup_intent', ...termExpansions],
    map: (response, asOf) => ({ ...mapToPay(response, asOf), invoices }),
  });
}

export function mapToPay(value: unknown, asOf: AsOf): Omit<SubscriptionToPay, 'invoices'> {
  const subscription = WireObject.parse(value, 'subscription');
  const isChanging = subscription.optional('object', 'pending_update') !== null;
  const setupIntent = subscription.optional('object', 'pending_setup_intent');
  return {
    subscription: mapSubscription(withKnownLinks(value, noLinks), asOf),
    isPaused: subscription.text('status') === 'paused',
    paymentMethodId: defaultOfSubscription(subscription),
    // The processor bills a change that waits for its payment with the latest invoice.
    changeInvoiceId: isChanging ? subscription.optional('reference', 'latest_invoice') : null,
    setupClientSecret: setupIntent && ifReadable(() => clientSecretOf(setupIntent)),
  };
}

export function mapSubscriptionInvoice(value: unknown, asOf: AsOf): SubscriptionInvoice {
  const invoice = WireObject.parse(value, 'invoice');
  const starts = (ifReadable(() => invoice.list('lines')) ?? []).flatMap(
    (line) => line.optional('object', 'period')?.optional('moment', 'start')?.getTime() ?? [],
  );
  return {
    processorInvoiceId: invoice.id(),
    status: invoice.optionalText('status'),
    isOneOff: invoice.optionalText('billing_reason') === 'manual',
    billsFrom: starts.length === 0 ? null : new Date(Math.min(...starts)),
    paidAt: invoice.optional('object', 'status_transitions')?.optional('moment', 'paid_at') ?? null,
    facts: ifReadable(() => mapInvoice(value, asOf)),
  };
}
