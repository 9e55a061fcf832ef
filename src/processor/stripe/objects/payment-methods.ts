import type { AsOf } from '#core/model/facts.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { Attempt, PaymentMethodCalls } from '../../port/processor.ts';
import { setScheduledMethod } from '../changes/planned-changes.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { createdSince, fetchAll, fetchFrom, mapAll } from '../wire/listing.ts';
import { findMarked, withRequest } from '../wire/request-marks.ts';
import {
  done,
  isMissing,
  isReplayed,
  missingOrWrongState,
  nullIfMissing,
  warnOfMissingSecret,
} from '../wire/responses.ts';
import { creationMetadata } from '../wire/wire-metadata.ts';
import { ifReadable, noLinks, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { defaultOf, mapPaymentMethod, mapSetup, mapUse } from './map-payment-method.ts';
import { mapSubscription, termExpansions } from './map-subscription.ts';

export function createPaymentMethodCalls(context: AdapterContext): PaymentMethodCalls {
  return { ...createSetups(context), ...createReads(context), ...createWrites(context) };
}

function createSetups(context: AdapterContext): Pick<PaymentMethodCalls, 'setUp' | 'findSetup'> {
  const { stripe, call, logger } = context;
  return {
    setUp: ({ id, mark, processorCustomerId, idempotencyKey }) =>
      call.write('setup_intents.create', {
        idempotencyKey,
        send: (options) =>
          stripe.setupIntents.create(
            {
              customer: processorCustomerId,
              // The payment method is also saved for charges without the customer.
              usage: 'off_session',
              automatic_payment_methods: { enabled: true },
              metadata: creationMetadata({ id, mark }),
            },
            options,
          ),
        take: (response) => {
          const setup = mapSetup(response);
          if (setup.clientSecret === null)
            warnOfMissingSecret(logger, 'setup_intents.create', setup.processorSetupIntentId);
          return setup;
        },
      }),

    findSetup: async ({ mark, since, processorCustomerId: customer }) => {
      const fetch = fetchFrom(stripe.setupIntents, { customer, ...createdSince(since) });
      const found = await findMarked(context, 'setup_intents.list', fetch, mark);
      return found && withRequest(found, mapSetup(found.value));
    },
  };
}

type Reads = Pick<PaymentMethodCalls, 'list' | 'read' | 'readDefault' | 'listUses'>;

function createReads(context: AdapterContext): Reads {
  const { stripe, call } = context;
  return {
    list: async (customer) => {
      const fetch = fetchFrom(stripe.paymentMethods, { customer });
      // The listing is for one customer, so all of its payment methods belong to that customer.
      const methods = await mapAll(context, 'payment_methods.list', fetch, (value, asOf) =>
        mapPaymentMethod(withKnownLinks(value, { customer }), asOf),
      );
      // Payment methods of the same second keep the processor's order, which is also newest first.
      return methods.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
    },

    read: (paymentMethodId) =>
      call.read('payment_methods.read', {
        send: (options) => stripe.paymentMethods.retrieve(paymentMethodId, {}, options),
        take: mapPaymentMethod,
        refused: nullIfMissing,
      }),

    readDefault: (processorCustomerId) =>
      call.read('customers.read', {
        send: (options) => stripe.customers.retrieve(processorCustomerId, {}, options),
        take: (response) => {
          const customer = WireObject.parse(response, 'customer').expectKind('customer');
          return customer.isDeleted() ? 'unknown' : { paymentMethodId: defaultOf(customer) };
        },
        refused: (refusal) => (isMissing(refusal) ? 'unknown' : undefined),
      }),

    listUses: (customer) => {
      // Without a status filter, the processor leaves out canceled subscriptions.
      const fetch = fetchFrom(stripe.subscriptions, { customer, status: 'all', expand: ['data.schedule'] });
      // A subscription that cannot be read fails the listing. If it were left out, its payment method would look
      // unused.
      return fetchAll(context, 'subscriptions.list', fetch, mapUse);
    },
  };
}

type Writes = Pick<PaymentMethodCalls, 'setDefault' | 'setDefaultOfSubscription' | 'detach'>;

/** Till has just read both objects of each call, so any refusal is about the state of one of them. */
function createWrites(context: AdapterContext): Writes {
  const { stripe, call } = context;
  return {
    setDefault: ({ processorCustomerId, paymentMethodId, idempotencyKey }) =>
      call.write('customers.update', {
        idempotencyKey,
        send: (options) =>
          stripe.customers.update(
            processorCustomerId,
            { invoice_settings: { default_payment_method: paymentMethodId } },
            options,
          ),
        take: (response) => {
          const customer = WireObject.parse(response, 'customer').expectKind('customer');
          return requireChange(!customer.isDeleted() && defaultOf(customer) === paymentMethodId, 'customer');
        },
        refused: missingOrWrongState,
      }),

    setDefaultOfSubscription: async (order) => {
      const { processorSubscriptionId, paymentMethodId, isPlanned, idempotencyKey } = order;
      const attempt = await call.write('subscriptions.update', {
        idempotencyKey,
        send: (options) =>
          stripe.subscriptions.update(
            processorSubscriptionId,
            { default_payment_method: paymentMethodId, expand: [...termExpansions] },
            options,
          ),
        take: (response, asOf) => {
          requireChange(mapUse(response).paymentMethodId === paymentMethodId, 'subscription');
          return done(currentFacts(response, asOf));
        },
        refused: missingOrWrongState,
      });
      // Without this, a schedule would set the old payment method again when its next phase begins.
      return attempt.outcome === 'done' && isPlanned === true
        ? setScheduledMethod(context, processorSubscriptionId, paymentMethodId, `${idempotencyKey}-schedule`)
        : attempt;
    },

    detach: ({ paymentMethodId, idempotencyKey }) =>
      call.write('payment_methods.detach', {
        idempotencyKey,
        send: (options) => stripe.paymentMethods.detach(paymentMethodId, {}, options),
        take: (response) => {
          const method = WireObject.parse(response, 'payment_method').expectKind('payment_method');
          return requireChange(method.referenceOrNull('customer') === null, 'payment method');
        },
        refused: missingOrWrongState,
      }),
  };
}

/** Null if the response may be stale or incomplete. A subscription that Till does not mirror may be of any shape. */
function currentFacts(response: unknown, asOf: AsOf): SubscriptionFacts | null {
  if (isReplayed(response)) return null;
  const facts = ifReadable(() => mapSubscription(withKnownLinks(response, noLinks), asOf));
  return facts?.metadata === null ? null : facts;
}

/** If a response does not show the change, the change may not have been made. */
function requireChange(isChanged: boolean, kind: string): Attempt<null> {
  if (!isChanged) throw new UnmappableError(`the ${kind} does not show the change`);
  return done(null);
}
