import type { Metadata } from '#core/model/metadata.ts';
import { Type } from '#core/platform/schemas.ts';
import {
  amountOf,
  Currency,
  dateTime,
  Email,
  ExternalId,
  Id,
  IdempotencyKey,
  Name,
  NewMetadata,
  nullable,
  ReturnUrl,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { itemFields, trialFields } from '../subscriptions/changes/subscription-patch-schema.ts';
import { promotionCodeLengthMax } from '../subscriptions/promotion-code.ts';
import { CheckoutSchema, checkoutExample } from './checkout-fields.ts';

export const OpenedCheckoutSchema = component('OpenedCheckout', {
  checkout: CheckoutSchema,
  url: nullable(
    Type.String({
      description:
        'The page to which you send the buyer. Null unless the checkout is open and the API key has the scope ' +
        '`write`. Till never stores it: request it again with `GET /api/v1/checkouts/{id}`.',
    }),
  ),
});

export const openedExample = {
  checkout: checkoutExample,
  url: 'https://checkout.example.com/c/pay/cs_test_a1b2c3d4e5f6g7h8i9j0',
};

/** The same as for payments: the contract's limit. */
const descriptionLengthMax = 500;
/** The processor's locales are shorter. */
const localeLengthMax = 35;

const Page = {
  successUrl: Type.Unsafe<string>({
    ...ReturnUrl,
    description:
      'Where the processor sends the buyer afterwards. `{CHECKOUT_ID}` becomes the id of the checkout.',
  }),
  cancelUrl: Type.Unsafe<string>({
    ...ReturnUrl,
    description: 'Where the link to go back leads. `{CHECKOUT_ID}` becomes the id of the checkout.',
  }),
  expiresAt: Type.Optional(dateTime('31 minutes to 24 hours from now. Default: in 24 hours.')),
  locale: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: localeLengthMax,
      pattern: '^[A-Za-z0-9-]+$',
      description: "The language of the page. Default: that of the buyer's browser.",
    }),
  ),
  collectBillingAddress: Type.Optional(Type.Boolean({ default: false })),
  collectTaxId: Type.Optional(Type.Boolean({ default: false })),
  automaticTax: Type.Optional(Type.Boolean({ default: false })),
};

export const CheckoutBody = Type.Object(
  {
    customerId: Type.Optional({ ...Id, description: 'The buyer. Either this or `customer`.' }),
    customer: Type.Optional(
      Type.Object(
        {
          externalId: ExternalId,
          email: Email,
          name: Type.Optional(Name),
        },
        {
          additionalProperties: false,
          description:
            'The buyer by your own id. A customer with this externalId is used as it is. If there is none, it is created.',
        },
      ),
    ),
    planId: Type.Optional({ ...Id, description: 'Sell a subscription to this plan.' }),
    ...itemFields,
    ...trialFields,
    trialEndWithoutCard: Type.Optional(
      Type.Enum(['invoice', 'pause', 'cancel'], {
        description:
          'What happens if the trial ends without a card. The page then asks for no card while nothing is due. Without ' +
          'this field a card is required.',
      }),
    ),
    promotionCode: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: promotionCodeLengthMax,
        description: 'A code that is applied already. Not together with `allowPromotionCodes`.',
      }),
    ),
    allowPromotionCodes: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether the buyer can enter a code on the page.' }),
    ),
    payment: Type.Optional(
      Type.Object(
        {
          amount: amountOf('In the smallest unit of the currency.'),
          currency: Currency,
          description: Type.String({
            minLength: 1,
            maxLength: descriptionLengthMax,
            description: 'The buyer sees it.',
          }),
          savePaymentMethod: Type.Optional(Type.Boolean({ default: false })),
          captureMethod: Type.Optional(Type.Enum(['automatic', 'manual'], { default: 'automatic' })),
        },
        { additionalProperties: false, description: 'Sell something once, for this amount.' },
      ),
    ),
    saveCard: Type.Optional(
      Type.Literal(true, { description: 'Only save a card. It does not become the default.' }),
    ),
    ...Page,
    metadata: Type.Optional(
      Type.Unsafe<Metadata>({
        ...NewMetadata,
        description: 'Your own values. The subscription or payment that results also gets them.',
      }),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'NewCheckout', additionalProperties: false },
);
