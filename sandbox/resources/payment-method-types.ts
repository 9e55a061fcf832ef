import { type Intent, nounOf } from '../payments/intent.ts';
import { mayUseOld, sees } from '../wire/api-version.ts';
import type { PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missingParam, refusal } from '../wire/wire-error.ts';
import type { Resource } from './resource.ts';

/** More than the number of types at the processor. */
const typesMax = 100;
/** Link is a wallet for cards. The sandbox supports no other payment methods. */
const supportedTypes: readonly string[] = ['card', 'link'];

/** The older parameter: a fixed list of types. */
export const typesParam = { payment_method_types: p.array(p.text(), typesMax) };

/** The options of cards with an effect. */
const cardOptions = {
  capture_method: p.clearable(p.oneOf('manual')),
  network: p.text(),
  request_three_d_secure: p.oneOf('any', 'automatic', 'challenge'),
  setup_future_usage: p.clearable(p.oneOf('none', 'off_session', 'on_session')),
};

/** The options of each kind of payment method. All others are accepted without an effect. */
export const methodOptions: p.Parser<p.Parsed<typeof cardOptions> | undefined> = (node, path) => {
  if (typeof node === 'string') throw badParam('Invalid object', path);
  const card = node.get('card');
  if (card === undefined || typeof card === 'string') return undefined;
  const known = [...card].filter(([name]) => Object.hasOwn(cardOptions, name));
  return p.parseFields(cardOptions, new Map(known), `${path}[card]`);
};

/** The options with an effect, as an intent shows them. */
export function shownOptions(
  options: ReturnType<typeof methodOptions>,
): NonNullable<PaymentIntent['payment_method_options']> {
  if (options === undefined) return {};
  const { capture_method: capture, setup_future_usage: future, request_three_d_secure: secure } = options;
  return {
    card: {
      ...(capture != null && { capture_method: capture }),
      installments: null,
      mandate_options: null,
      network: options.network ?? null,
      request_three_d_secure: secure ?? 'automatic',
      ...(future != null && { setup_future_usage: future }),
    },
  };
}

/** The parameters that decide which payment methods a new intent accepts. */
export const methodChoiceParams = {
  ...typesParam,
  automatic_payment_methods: p.object({
    enabled: p.required(p.bool),
    allow_redirects: p.oneOf('always', 'never'),
  }),
};

/** The types in the parameters. Undefined if there is no list. */
export function listedTypes(call: Call, { payment_method_types: types }: p.Parsed<typeof typesParam>) {
  if (types === undefined) return undefined;
  if (!mayUseOld(call.version, 'noPaymentMethodTypes'))
    throw badParam(
      'The `payment_method_types` parameter is no longer supported in this API version. Use dynamic payment methods, or `allowed_payment_method_types` and `excluded_payment_method_types` to limit them.',
      'payment_method_types',
      'payment_method_types_no_longer_supported',
    );
  const unsupported = types.find((type) => !supportedTypes.includes(type));
  if (unsupported !== undefined)
    throw badParam(
      `The payment method type provided: ${unsupported} is invalid. The sandbox supports only ${supportedTypes.join(' and ')}.`,
      'payment_method_types',
      'payment_intent_invalid_parameter',
    );
  if (!types.includes('card'))
    throw badParam('payment_method_types must include card.', 'payment_method_types');
  return [...types];
}

/** Which payment methods a new intent accepts. The processor chooses them if the caller does not. */
export function chosenMethods(
  call: Call,
  params: p.Parsed<typeof methodChoiceParams>,
): Pick<PaymentIntent, 'automatic_payment_methods'> & { payment_method_types?: string[] } {
  const { automatic_payment_methods: automatic } = params;
  const types = listedTypes(call, params);
  if (types !== undefined) {
    if (automatic?.enabled === true)
      throw exclusiveParams('payment_method_types', 'automatic_payment_methods');
    return { automatic_payment_methods: null, payment_method_types: types };
  }
  const isAutomatic = automatic?.enabled ?? sees(call.version, 'automaticPaymentMethods');
  return {
    automatic_payment_methods: isAutomatic
      ? { enabled: true, allow_redirects: automatic?.allow_redirects ?? 'always' }
      : null,
  };
}

/** What changes of an intent with its payment method. */
export function withMethod({ id }: PaymentMethod) {
  return { payment_method: id, status: 'requires_confirmation', next_action: null } as const;
}

/** What browsers may do, too: retrieve an intent, and confirm it. */
export function browserOperations<T extends Intent, F extends p.Fields>(
  intents: Resource<T>,
  confirmationParams: F,
  confirm: (call: Call, intent: T, params: p.Parsed<F>) => object,
  show: (call: Call, intent: T) => object,
): Operation[] {
  const secret = { client_secret: p.text() };
  const access = { forBrowsers: true } as const;
  return [
    intents.operation(
      'retrieve',
      'GET *',
      secret,
      (call, params) => show(call, openedIntent(intents, call, params.client_secret)),
      access,
    ),
    intents.operation(
      'confirm',
      'POST */confirm',
      { ...confirmationParams, ...secret },
      (call, parsed) => {
        // Parsing has produced both.
        const params = parsed as p.Parsed<F> & p.Parsed<typeof secret>;
        return confirm(call, openedIntent(intents, call, params.client_secret), params);
      },
      access,
    ),
  ];
}

/** The intent with the id in the path. A browser must send the intent's client secret. A server may. */
function openedIntent<T extends Intent>(
  intents: Resource<T>,
  call: Call,
  clientSecret: string | undefined,
): T {
  if (call.fromBrowser && clientSecret === undefined) throw missingParam('client_secret');
  const intent = intents.existing(call);
  if (clientSecret !== undefined && intent.client_secret !== clientSecret)
    throw refusal(
      404,
      `The client_secret does not match this ${nounOf(intent)}.`,
      'resource_missing',
      'client_secret',
    );
  return intent;
}
