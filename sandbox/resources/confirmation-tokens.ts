import { shipping } from '../payments/address.ts';
import { confirmationTokenLifeSeconds } from '../payments/confirmation-token.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import type { ConfirmationToken } from '../wire/objects.ts';
import { type Call, type Operation, operation } from '../wire/operation.ts';
import { bool, clearable, oneOf, type Parsed, text, url } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const params = {
  payment_method: text(),
  payment_method_data: paymentMethodData,
  return_url: clearable(url),
  setup_future_usage: oneOf('off_session', 'on_session'),
  shipping: clearable(shipping),
};

const confirmationTokens = new Resource('confirmation_tokens', (store) => store.confirmationTokens, { show });

export const confirmationTokenOperations: readonly Operation[] = [
  confirmationTokens.operation('create', 'POST', { ...params, use_stripe_sdk: bool }, create, {
    forBrowsers: true,
  }),
  confirmationTokens.retrieve(),
  // Servers create them only for tests.
  operation(
    {
      name: 'test_helpers.confirmation_tokens.create',
      method: 'POST',
      path: 'test_helpers/confirmation_tokens',
    },
    params,
    create,
  ),
];

function create(
  { store }: Call,
  given: Parsed<typeof params> & { readonly use_stripe_sdk?: boolean | undefined },
): object {
  const method =
    given.payment_method_data === undefined
      ? usablePaymentMethod(store, given.payment_method ?? missingMethod(), null)
      : createPaymentMethod(store, given.payment_method_data);
  const { allow_redisplay, billing_details, card, customer, customer_account, type } = method;
  const now = store.worldNow();
  const token = store.put(store.confirmationTokens, {
    id: store.confirmationTokens.newId(),
    object: 'confirmation_token',
    created: now,
    expires_at: now + confirmationTokenLifeSeconds,
    livemode: false,
    mandate_data: null,
    metadata: null,
    payment_intent: null,
    payment_method: method.id,
    payment_method_options: null,
    payment_method_preview: {
      ...(allow_redisplay === undefined ? {} : { allow_redisplay }),
      billing_details,
      ...(card === undefined ? {} : { card }),
      customer,
      customer_account,
      type,
    },
    return_url: given.return_url ?? null,
    setup_future_usage: given.setup_future_usage ?? null,
    setup_intent: null,
    shipping: given.shipping ?? null,
    use_stripe_sdk: given.use_stripe_sdk ?? false,
  });
  return show(store, token);
}

function missingMethod(): never {
  throw badParam('Missing required param: payment_method_data.', 'payment_method_data', 'parameter_missing');
}

/** The payment method is hidden until the token confirms something. */
function show(_: Store, token: ConfirmationToken): object {
  const { payment_method: _hidden, ...shown } = token;
  return shown;
}
