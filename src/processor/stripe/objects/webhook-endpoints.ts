import type { Stripe as StripeTypes } from 'stripe';
import { Failure } from '#core/errors.ts';
import type { WebhookEndpoint, WebhookEndpointCalls } from '../../port/webhook-endpoint-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchAll, fetchFrom } from '../wire/listing.ts';
import { done, missing } from '../wire/responses.ts';
import { Stripe } from '../wire/stripe-package.ts';
import { WireObject } from '../wire/wire-object.ts';

const setupKeyName = 'till_setup_key';
const replacesName = 'till_replaces';
const secretTakenName = 'till_secret_taken_by';

/** The description in the dashboard. */
const description = 'Till';

type EnabledEvents = StripeTypes.WebhookEndpointCreateParams.EnabledEvent[];

export function createWebhookEndpointCalls(context: AdapterContext): WebhookEndpointCalls {
  const { stripe, call } = context;
  return {
    apiVersion: Stripe.API_VERSION,

    list: async () => {
      const fetch = fetchFrom(stripe.webhookEndpoints, {});
      const own = await fetchAll(context, 'webhook_endpoints.list', fetch, mapOwn);
      return own.flat();
    },

    create: ({ idempotencyKey, url, events, replaces }) =>
      call.write('webhook_endpoints.create', {
        idempotencyKey,
        send: (options) =>
          stripe.webhookEndpoints.create(
            {
              url,
              enabled_events: [...events] as EnabledEvents,
              api_version: Stripe.API_VERSION,
              description,
              metadata: {
                [setupKeyName]: idempotencyKey,
                ...(replaces === null ? {} : { [replacesName]: replaces }),
              },
            },
            options,
          ),
        take: (response) => ({
          endpoint: mapEndpoint(response),
          secret: WireObject.parse(response, 'webhook_endpoint').text('secret'),
        }),
      }),

    correct: ({ idempotencyKey, id, events }) =>
      call.write('webhook_endpoints.update', {
        idempotencyKey,
        send: (options) =>
          stripe.webhookEndpoints.update(
            id,
            { enabled_events: [...events] as EnabledEvents, disabled: false },
            options,
          ),
        take: (response) => done(mapEndpoint(response)),
        refused: missing,
      }),

    ...createSecretAndDelete(context),
  };
}

function createSecretAndDelete({
  stripe,
  call,
}: AdapterContext): Pick<WebhookEndpointCalls, 'takeSecret' | 'delete'> {
  return {
    // All callers use the same processor key with different values. So the processor carries out the first request and
    // refuses the others.
    takeSecret: async ({ id, takerId }) => {
      try {
        return await call.write('webhook_endpoints.update', {
          idempotencyKey: `till-secret-${id}`,
          send: (options) =>
            stripe.webhookEndpoints.update(id, { metadata: { [secretTakenName]: takerId } }, options),
          take: () => true,
        });
      } catch (error) {
        const isTaken = error instanceof Failure && error.code === 'processor_bad_answer';
        if (isTaken && error.extras.replayed === true) return false;
        throw error;
      }
    },

    delete: (id) =>
      call.write('webhook_endpoints.delete', {
        send: (options) => stripe.webhookEndpoints.del(id, {}, options),
        take: () => done('deleted' as const),
        refused: missing,
      }),
  };
}

/** Endpoints of a platform receive the events of other accounts, so they are left out. */
function mapOwn(value: unknown): readonly WebhookEndpoint[] {
  const isOfPlatform = WireObject.parse(value, 'webhook_endpoint').textOrNull('application') !== null;
  return isOfPlatform ? [] : [mapEndpoint(value)];
}

function mapEndpoint(value: unknown): WebhookEndpoint {
  const endpoint = WireObject.parse(value, 'webhook_endpoint').expectKind('webhook_endpoint');
  const metadata = endpoint.object('metadata');
  return {
    id: endpoint.id(),
    url: endpoint.text('url'),
    isEnabled: endpoint.text('status') === 'enabled',
    events: endpoint.array('enabled_events').map(String),
    apiVersion: endpoint.textOrNull('api_version'),
    createdAt: endpoint.moment('created'),
    setupKey: metadata.optionalText(setupKeyName),
    replaces: metadata.optionalText(replacesName),
    isSecretTaken: metadata.has(secretTakenName),
  };
}
