import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, ReturnUrl, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { type PortalFlowName, type PortalService, portalFlows } from './portal-service.ts';

const CreateBody = Type.Object(
  {
    returnUrl: ReturnUrl,
    flow: Type.Optional(
      Type.Unsafe<PortalFlowName | null>({
        type: ['string', 'null'],
        enum: [...portalFlows, null],
        description:
          'The page on which the portal starts: `paymentMethod` adds a card, `cancel` cancels the subscription ' +
          '`subscriptionId` at the end of its period. The customer then returns to `returnUrl`. ' +
          'If null or absent, the portal begins with its first page.',
      }),
    ),
    subscriptionId: Type.Optional(
      Type.String({ format: 'uuid', description: 'With `flow: cancel`, and only with it.' }),
    ),
    locale: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 20,
        description:
          "The processor's name of a language, such as `de`. Without it, the portal follows the browser.",
      }),
    ),
    processorConfigurationId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          "The processor's id of your own portal configuration. Without it, the portal shows cards, invoices and the " +
          "address, and cancels at the end of the period. It offers no change of plan, because it does not know Till's " +
          'groups, previews and pending changes.',
      }),
    ),
  },
  { title: 'NewPortalSession', additionalProperties: false },
);

const SessionSchema = component('PortalSession', {
  url: Type.String({
    description:
      'Send the customer there at once: it lets its holder act as the customer, and expires within minutes. ' +
      'Till never stores it.',
  }),
});

const example: Static<typeof CreateBody> = {
  returnUrl: 'https://shop.example.com/account',
};

export function registerPortalRoutes(app: FastifyInstance, portal: PortalService): void {
  new ApiRoutes(app, 'portal').add('POST /api/v1/customers/:id/portal-sessions', {
    scope: 'write',
    operationId: 'createPortalSession',
    summary: "Send a customer to the processor's portal",
    description:
      'There customers change their card, see their invoices, and cancel. Till learns of their changes by webhooks. On the page ' +
      'to which they return, ask for the entitlements with `fresh=true`. The request takes no idempotency key, because ' +
      'it changes nothing.',
    body: body(CreateBody, example),
    response: {
      201: response('The address of the portal for this customer.', SessionSchema, {
        url: 'https://billing.example.com/p/session/test_YWNjdF8xTTJKVGtMa2RJd0h1N2l4LF9PaGhz',
      }),
    },
    failures: ['subscription_ended', 'subscription_ending', 'pending_change', 'subscription_busy'],
    callsProcessor: true,
    run: async ({ params, body }) => ({ url: await portal.createSession(params.id, body) }),
  });
}
