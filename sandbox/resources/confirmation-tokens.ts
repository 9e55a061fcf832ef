import { shipping } from '../payments/address.ts';
import type { Intent } from '../payments/intent.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { ConfirmationToken } from '../wire/objects.ts';
import { type Call, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missingParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const params = {
  payment_method: p.text(),
  payment_method_data: paymentMethodData,
  return_url: p.clearable(p.url),
  setup_future_usage: p.oneOf('off_session', 'on_session'),
  shipping: p.clearable(shipping),
};

const confirmationTokens = new Resource('confirmation_tokens', (store) => store.confirmationTokens, { show });

export const confirmationTokenOperations = [
  confirmationTokens.create({ ...params, use_stripe_sdk: p.bool }, create, { forBrowsers: true }),
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
  given: p.Parsed<typeof params> & { readonly use_stripe_sdk?: boolean | undefined },
): object {
  const method =
    given.payment_method_data === undefined
      ? usablePaymentMethod(store, given.payment_method ?? missingMethod(), null)
      : createPaymentMethod(store, given.payment_method_data);
  const { allow_redisplay, billing_details, card, customer, customer_account, type } = method;
  const now = store.worldNow();
  const token = store.put(store.confirmationTokens, {
    ...store.blank(store.confirmationTokens, 'confirmation_token', now),
    expires_at: now + confirmationTokenLifeSeconds,
    ...nulls('mandate_data metadata payment_intent payment_method_options setup_intent'),
    payment_method: method.id,
    payment_method_preview: {
      ...(allow_redisplay !== undefined && { allow_redisplay }),
      billing_details,
      ...(card !== undefined && { card }),
      customer,
      customer_account,
      type,
    },
    return_url: given.return_url ?? null,
    setup_future_usage: given.setup_future_usage ?? null,
    shipping: given.shipping ?? null,
    use_stripe_sdk: given.use_stripe_sdk ?? false,
  });
  return show(store, token);
}

function missingMethod(): never {
  throw missingParam('payment_method_data');
}

/** The payment method is hidden until the token confirms something. */
function show(_: Store, token: ConfirmationToken): object {
  const { payment_method: _hidden, ...shown } = token;
  return shown;
}

/** As at the processor: 12 hours. */
const confirmationTokenLifeSeconds = 43_200;

/** The parameters of a confirmation that a confirmation token can contain. */
type Confirmation = Partial<p.Parsed<Omit<typeof params, 'return_url' | 'setup_future_usage'>>> & {
  readonly confirmation_token?: string | undefined;
  readonly return_url?: string | undefined;
  readonly setup_future_usage?: 'off_session' | 'on_session' | null | undefined;
  readonly use_stripe_sdk?: boolean | undefined;
};

/** Adds what the confirmation token of a request contains to its parameters, and marks the token as used. */
export function withConfirmationToken<T extends Confirmation>(
  store: Store,
  intent: Pick<Intent, 'id' | 'object'>,
  params: T,
): T {
  if (params.confirmation_token === undefined) return params;
  if (params.payment_method !== undefined || params.payment_method_data !== undefined)
    throw exclusiveParams('confirmation_token', 'payment_method', 'payment_method_data');
  const token = store.confirmationTokens.existing(params.confirmation_token, 'confirmation_token');
  if (token.payment_intent !== null || token.setup_intent !== null)
    throw badParam(
      'The ConfirmationToken has already been used to confirm a PaymentIntent or SetupIntent.',
      'confirmation_token',
    );
  if ((token.expires_at ?? 0) <= store.worldNow())
    throw badParam('The ConfirmationToken has expired. Create a new one.', 'confirmation_token');
  const used: Partial<ConfirmationToken> = { [intent.object]: intent.id };
  store.change(store.confirmationTokens, token, used);
  return {
    ...params,
    payment_method: token.payment_method,
    return_url: params.return_url ?? token.return_url ?? undefined,
    setup_future_usage: params.setup_future_usage ?? token.setup_future_usage ?? undefined,
    shipping: params.shipping ?? token.shipping ?? undefined,
    use_stripe_sdk: params.use_stripe_sdk ?? (token.use_stripe_sdk || undefined),
  };
}
