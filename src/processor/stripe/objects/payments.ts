import type { Stripe } from 'stripe';
import { Failure } from '#core/errors.ts';
import type { AsOf } from '#core/model/facts.ts';
import type { NewPayment, PaymentCalls, PaymentWithSecret } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { createdSince, fetchFrom, mapPages } from '../wire/listing.ts';
import type { Refusal } from '../wire/refusal.ts';
import { findMarked, readMark, withRequest } from '../wire/request-marks.ts';
import {
  done,
  missing,
  missingOrWrongState,
  nullIfMissing,
  refused,
  sinceCreation,
  warnOfMissingSecret,
} from '../wire/responses.ts';
import {
  captureKeys,
  changedMetadata,
  creationMetadata,
  markMetadata,
  withSentMetadata,
} from '../wire/wire-metadata.ts';
import { type KnownLinks, noLinks, withKnownLinks } from '../wire/wire-object.ts';
import { clientSecretOfPayment, mapPaymentResponse } from './map-payment.ts';

/** The latest charge shows how the payment was paid, and how long it can be captured. */
const withCharge = { expand: ['latest_charge'] };

/** The refunds of the latest charge show whether the payment was refunded. */
const withRefunds = { expand: ['latest_charge.refunds'] };

export function createPaymentCalls(context: AdapterContext): PaymentCalls {
  const { stripe, call } = context;
  const read = createRead(context);
  return {
    create: createCreate(context, read),

    read: (processorPaymentIntentId) => read(processorPaymentIntentId, noLinks),

    ...createChanges(context),

    capture: ({ processorPaymentIntentId, mark, amount, idempotencyKey }) =>
      call.write('payments.capture', {
        idempotencyKey,
        send: (options) =>
          stripe.paymentIntents.capture(
            processorPaymentIntentId,
            {
              ...(amount === null ? {} : { amount_to_capture: amount }),
              metadata: markMetadata(mark, captureKeys),
              ...withCharge,
            },
            options,
          ),
        take: (response, asOf) => done(mapPaymentResponse(withKnownLinks(response, noLinks), asOf), response),
        refused: (refusal) =>
          missing(refusal) ?? (isAboutCapture(refusal) ? refused('wrong_state', refusal) : undefined),
      }),

    findCapture: ({ processorPaymentIntentId, mark }) =>
      call.read('payments.read', {
        send: (options) => stripe.paymentIntents.retrieve(processorPaymentIntentId, withCharge, options),
        take: (response, asOf) => {
          const found = readMark(response, mark, captureKeys);
          return found && withRequest(found, mapPaymentResponse(withKnownLinks(response, noLinks), asOf));
        },
        refused: nullIfMissing,
      }),

    find: async ({ mark, since, processorCustomerId: customer }) => {
      const fetch = fetchFrom(stripe.paymentIntents, { customer, ...createdSince(since) });
      const found = await findMarked(context, 'payments.list', fetch, mark);
      return found && withRequest(found, await read(found.id, { localId: found.localId, customer }));
    },

    list: ({ processorCustomerId, ...place }) =>
      mapPages(
        context,
        'payments.list',
        fetchFrom(stripe.paymentIntents, {
          expand: ['data.latest_charge'],
          ...(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        }),
        mapPaymentResponse,
        place,
      ),
  };
}

type Marking = Parameters<typeof creationMetadata>[0];

function createChanges({ stripe, call }: AdapterContext): Pick<PaymentCalls, 'update' | 'cancel'> {
  return {
    update: ({ processorPaymentIntentId, metadata, idempotencyKey }) =>
      call.write('payments.update', {
        idempotencyKey,
        send: (options) =>
          stripe.paymentIntents.update(
            processorPaymentIntentId,
            { ...changedMetadata(metadata), ...withCharge },
            options,
          ),
        take: (response, asOf) => done(mapPaymentResponse(withKnownLinks(response, noLinks), asOf), response),
        refused: missing,
      }),

    cancel: ({ processorPaymentIntentId, idempotencyKey }) =>
      call.write('payments.cancel', {
        idempotencyKey,
        send: (options) => stripe.paymentIntents.cancel(processorPaymentIntentId, {}, options),
        take: (response, asOf) => done(mapPaymentResponse(withKnownLinks(response, noLinks), asOf)),
        refused: missingOrWrongState,
      }),
  };
}

type Read = (processorPaymentIntentId: string, known: KnownLinks) => Promise<PaymentWithSecret | null>;

function createRead({ stripe, call }: AdapterContext): Read {
  return (processorPaymentIntentId, known) =>
    call.read('payments.read', {
      send: (options) => stripe.paymentIntents.retrieve(processorPaymentIntentId, withRefunds, options),
      take: (response, asOf) => withSecret(response, known, asOf),
      refused: nullIfMissing,
    });
}

/**
 * An off-session charge that is declined leaves a payment that the customer can still pay. One that needs
 * authentication is confirmed again, as if on session: it then waits for the customer, and keeps its payment method.
 */
function createCreate({ stripe, call, logger }: AdapterContext, read: Read): PaymentCalls['create'] {
  return async ({ idempotencyKey, ...payment }) => {
    const { id, processorCustomerId, paymentMethodId, offSession, metadata } = payment;
    const known = { localId: id, customer: processorCustomerId };
    const created = await call.write<PaymentWithSecret | { readonly declinedId: string }>('payments.create', {
      idempotencyKey,
      send: (options) => stripe.paymentIntents.create(creationParams(payment), options),
      take: (response, asOf) => {
        const created = withSecret(
          withSentMetadata(response, metadata),
          known,
          sinceCreation(response, asOf),
        );
        if (created.clientSecret === null && !offSession)
          warnOfMissingSecret(logger, 'payments.create', created.payment.processorPaymentIntentId);
        return created;
      },
      refused: ({ paymentIntentId }) =>
        offSession && paymentIntentId !== undefined ? { declinedId: paymentIntentId } : undefined,
    });
    if (!('declinedId' in created)) return created;
    const readDeclined = async () => {
      const declined = await read(created.declinedId, known);
      if (declined === null) throw lostPayment();
      return declined;
    };
    const declined = await readDeclined();
    if (declined.payment.failure?.code !== 'authentication_required') return declined;
    const waiting = await call.write('payments.confirm', {
      idempotencyKey: `${idempotencyKey}-authenticate`,
      send: (options) =>
        stripe.paymentIntents.confirm(
          created.declinedId,
          {
            ...(paymentMethodId === undefined ? {} : { payment_method: paymentMethodId }),
            use_stripe_sdk: true,
            ...withCharge,
          },
          options,
        ),
      take: (response, asOf) =>
        withSecret(withSentMetadata(response, metadata), known, sinceCreation(response, asOf)),
      refused: () => null,
    });
    return waiting ?? readDeclined();
  };
}

function creationParams(payment: NewPayment & Marking): Stripe.PaymentIntentCreateParams {
  const { processorCustomerId, amount, currency, description, captureMethod, paymentMethodId } = payment;
  return {
    customer: processorCustomerId,
    amount,
    currency,
    // Payment methods that redirect need a return URL and a customer who is present.
    automatic_payment_methods: { enabled: true, ...(payment.offSession ? { allow_redirects: 'never' } : {}) },
    metadata: { ...payment.metadata, ...creationMetadata(payment) },
    ...(description === undefined ? {} : { description }),
    ...(captureMethod === undefined ? {} : { capture_method: captureMethod }),
    ...(paymentMethodId === undefined ? {} : { payment_method: paymentMethodId }),
    ...(payment.offSession ? { confirm: true, off_session: true, ...withCharge } : {}),
    ...(payment.savePaymentMethod ? { setup_future_usage: 'off_session' } : {}),
  };
}

/** Every refusal is about the payment's state or the amount, except for amounts that are never valid. */
function isAboutCapture({ status, code }: Refusal): boolean {
  return code === null ? status === 400 : captureCodes.includes(code);
}

const captureCodes: readonly string[] = [
  'amount_too_large',
  'capture_charge_authorization_expired',
  'capture_unauthorized_payment',
  'charge_already_captured',
  'charge_already_refunded',
  'charge_expired_for_capture',
  'intent_invalid_state',
  'payment_intent_unexpected_state',
];

function lostPayment(): Failure {
  return new Failure(
    'processor_bad_answer',
    'The processor declined the charge, but has no such payment. Retry later, with the same idempotency key.',
    { effect: 'unknown' },
  );
}

function withSecret(response: unknown, known: KnownLinks, asOf: AsOf): PaymentWithSecret {
  return {
    payment: mapPaymentResponse(withKnownLinks(response, known), asOf),
    clientSecret: clientSecretOfPayment(response),
  };
}
