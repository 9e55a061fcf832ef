import type { Stripe } from 'stripe';
import type { AsOf } from '../../../mirrors/facts.ts';
import type { SubscriptionCalls, SubscriptionWithSecret } from '../../processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { sinceCreation } from '../wire/answer-time.ts';
import { done, isMissing, missing, refused } from '../wire/attempt.ts';
import { warnOfMissingSecret } from '../wire/client-secret.ts';
import { createdSince, type Fetch, findByLocalId, mapPages } from '../wire/listing.ts';
import { changedMetadata, withSentMetadata } from '../wire/wire-metadata.ts';
import { type KnownLinks, localIdKey, withKnownLinks } from '../wire/wire-object.ts';
import { clientSecretOfSubscription, mapSubscription } from './map-subscription.ts';
import { termExpansions } from './map-subscription-terms.ts';
import { createOpenInvoiceReads } from './open-invoices.ts';

const expand = ['latest_invoice.confirmation_secret', ...termExpansions];
const expandInList = termExpansions.map((path) => `data.${path}`);

export function createSubscriptionCalls(context: AdapterContext): SubscriptionCalls {
  const { stripe, call } = context;
  // Without a status filter, the processor leaves out canceled subscriptions.
  const fetchList = (filter: Stripe.SubscriptionListParams): Fetch => {
    return (page, options) => stripe.subscriptions.list({ status: 'all', ...filter, ...page }, options);
  };

  const read = (processorSubscriptionId: string, known: KnownLinks) =>
    call('subscriptions.read', {
      kind: 'read',
      send: (options) => stripe.subscriptions.retrieve(processorSubscriptionId, { expand }, options),
      take: (response, asOf) => withSecret(response, known, asOf),
      refused: (refusal) => (isMissing(refusal) ? null : undefined),
    });

  return {
    create: ({ id, processorCustomerId, processorPriceId, trialPeriodDays, metadata, idempotencyKey }) =>
      call('subscriptions.create', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptions.create(
            {
              customer: processorCustomerId,
              items: [{ price: processorPriceId }],
              // The frontend confirms the first payment; until then nothing is charged.
              payment_behavior: 'default_incomplete',
              // Without this, renewals would have no payment method to charge.
              payment_settings: { save_default_payment_method: 'on_subscription' },
              ...(trialPeriodDays === 0 ? {} : { trial_period_days: trialPeriodDays }),
              metadata: { ...metadata, [localIdKey]: id },
              expand,
            },
            { ...options, idempotencyKey },
          ),
        take: (response, asOf) => {
          const known = { localId: id, customer: processorCustomerId };
          const sent = withSentMetadata(response, metadata);
          const made = withSecret(sent, known, sinceCreation(response, asOf));
          if (made.subscription.status === 'incomplete') warnIfNoSecret(context, made);
          return made;
        },
      }),

    read: (processorSubscriptionId) => read(processorSubscriptionId, noLinks),

    ...createOpenInvoiceReads(context),

    ...createChanges(context),

    find: async ({ localId, since, processorCustomerId }) => {
      const fetch = fetchList({ customer: processorCustomerId, ...createdSince(since) });
      const id = await findByLocalId(context, 'subscriptions.list', fetch, localId);
      return id === null ? null : read(id, { localId, customer: processorCustomerId });
    },

    list: ({ processorCustomerId }) =>
      mapPages(
        context,
        'subscriptions.list',
        fetchList({ expand: expandInList, ...ofCustomer(processorCustomerId) }),
        mapSubscription,
      ),
  };
}

function ofCustomer(customer: string | undefined): Stripe.SubscriptionListParams {
  return customer === undefined ? {} : { customer };
}

function createChanges({
  stripe,
  call,
}: AdapterContext): Pick<SubscriptionCalls, 'update' | 'cancel' | 'resume'> {
  return {
    update: ({ processorSubscriptionId, metadata, idempotencyKey }) =>
      call('subscriptions.update', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptions.update(
            processorSubscriptionId,
            { ...changedMetadata(metadata), expand: [...termExpansions] },
            { ...options, idempotencyKey },
          ),
        take: (response, asOf) => done(mapSubscription(withKnownLinks(response, noLinks), asOf)),
        refused: missing,
      }),

    cancel: (processorSubscriptionId) =>
      call('subscriptions.cancel', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptions.cancel(processorSubscriptionId, { expand: [...termExpansions] }, options),
        take: (response, asOf) => done(mapSubscription(withKnownLinks(response, noLinks), asOf)),
        // The call carries none of the caller's values, so any other refusal is about the subscription's state.
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),

    resume: ({ processorSubscriptionId, period, idempotencyKey }) =>
      call('subscriptions.resume', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptions.resume(
            processorSubscriptionId,
            {
              billing_cycle_anchor: { type: period },
              // The present period is paid for already.
              ...(period === 'unchanged' ? { proration_behavior: 'none' } : {}),
            },
            { ...options, idempotencyKey },
          ),
        take: () => done(null),
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),
  };
}

function warnIfNoSecret(
  { logger }: AdapterContext,
  { subscription, clientSecret }: SubscriptionWithSecret,
): void {
  if (clientSecret === null)
    warnOfMissingSecret(logger, 'subscriptions.create', subscription.processorSubscriptionId);
}

/** A subscription that is read or canceled already has a row, with its links. */
const noLinks: KnownLinks = { localId: null, customer: null };

function withSecret(response: unknown, known: KnownLinks, asOf: AsOf): SubscriptionWithSecret {
  return {
    subscription: mapSubscription(withKnownLinks(response, known), asOf),
    clientSecret: clientSecretOfSubscription(response),
  };
}
