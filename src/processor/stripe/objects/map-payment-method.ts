import type { AsOf } from '../../../mirrors/facts.ts';
import type { CardSetup, PaymentMethod, PaymentMethodUse } from '../../../payment-methods/payment-method.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { subscriptionStatusWords } from './map-subscription.ts';

export function mapPaymentMethod(value: unknown, asOf: AsOf): PaymentMethod {
  const method = WireObject.parse(value, 'payment_method').expectKind('payment_method');
  const type = method.text('type');
  // Each type has its details in a field of its own name. Only cards are sure to have all four of them.
  const details = ifReadable(() => method.object(type));
  const number = (field: string) => ifReadable(() => details?.wholeNumber(field)) ?? null;
  return {
    id: method.text('id'),
    type,
    brand: details?.optionalText('brand') ?? null,
    last4: details?.optionalText('last4') ?? null,
    expMonth: number('exp_month'),
    expYear: number('exp_year'),
    processorCustomerId: method.referenceOrNull('customer'),
    createdAt: method.createdAt(asOf.earliest),
  };
}

/** Statuses in which a frontend still has something to confirm. */
const confirmable: readonly string[] = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
];

export function mapSetup(value: unknown): CardSetup {
  const intent = WireObject.parse(value, 'setup_intent').expectKind('setup_intent');
  const isConfirmable = confirmable.includes(intent.text('status'));
  return {
    processorSetupIntentId: intent.id(),
    clientSecret: isConfirmable ? intent.optionalText('client_secret') : null,
  };
}

export function mapUse(value: unknown): PaymentMethodUse {
  const subscription = WireObject.parse(value, 'subscription').expectKind('subscription');
  return {
    processorSubscriptionId: subscription.id(),
    status: ifReadable(() => subscription.translate('status', subscriptionStatusWords)),
    paymentMethodId: subscription.referenceOrNull('default_payment_method') ?? defaultSourceOf(subscription),
  };
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
