import type { AsOf } from '#core/model/facts.ts';
import type {
  AttachablePaymentMethod,
  CardSetup,
  PaymentMethod,
  PaymentMethodUse,
} from '#core/model/payment-method.ts';
import { scheduledMethods } from '../changes/schedule-phases.ts';
import { clientSecretOf } from '../wire/responses.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { subscriptionStatusWords } from './map-subscription.ts';

export function mapPaymentMethod(value: unknown, asOf: AsOf): AttachablePaymentMethod {
  const method = WireObject.parse(value, 'payment_method').expectKind('payment_method');
  return {
    ...describeMethod(method.id(), method),
    processorCustomerId: method.referenceOrNull('customer'),
    createdAt: method.createdAt(asOf.earliest),
  };
}

/**
 * Each type of payment method has its details in a field with the name of the type. Only cards always have all four.
 */
export function describeMethod(id: string, described: WireObject): PaymentMethod {
  const type = described.shortText('type');
  const own = described.optional('object', type);
  return {
    id,
    type,
    brand: own?.optional('shortText', 'brand') ?? null,
    last4: own?.optional('shortText', 'last4') ?? null,
    expMonth: own?.optional('wholeNumber', 'exp_month') ?? null,
    expYear: own?.optional('wholeNumber', 'exp_year') ?? null,
  };
}

export function mapSetup(value: unknown): CardSetup {
  const intent = WireObject.parse(value, 'setup_intent').expectKind('setup_intent');
  return { processorSetupIntentId: intent.id(), clientSecret: clientSecretOf(intent) };
}

export function mapUse(value: unknown): PaymentMethodUse {
  const subscription = WireObject.parse(value, 'subscription').expectKind('subscription');
  return {
    processorSubscriptionId: subscription.id(),
    status: ifReadable(() => subscription.translate('status', subscriptionStatusWords)),
    paymentMethodId: defaultOfSubscription(subscription),
    scheduledMethodIds: scheduledMethods(subscription),
  };
}

/** Null if the subscription charges the customer's default. */
export function defaultOfSubscription(subscription: WireObject): string | null {
  return subscription.referenceOrNull('default_payment_method') ?? defaultSourceOf(subscription);
}

/** The customer's default, from the customer. */
export function defaultOf(customer: WireObject): string | null {
  const settings = customer.object('invoice_settings');
  return settings.referenceOrNull('default_payment_method') ?? defaultSourceOf(customer);
}

/** The older kind of default, which is charged if the newer one is not set. */
function defaultSourceOf(object: WireObject): string | null {
  return object.has('default_source') ? object.referenceOrNull('default_source') : null;
}
