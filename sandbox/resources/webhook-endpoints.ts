import { newId } from '../ids.ts';
import type { WebhookEndpoint } from '../wire/objects.ts';
import { type Call, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  metadata,
  type Parser,
  required,
  text,
} from '../wire/params.ts';
import { badParam, missing, wrongState } from '../wire/wire-error.ts';

/** More names than there are types of events. */
const enabledEventsMax = 500;
/** The processor's own limit in test mode. */
const endpointsMax = 16;

const eventName: Parser<string> = (node, path) => {
  if (typeof node !== 'string' || !/^(\*|[a-z0-9_]+(\.[a-z0-9_]+)+)$/.test(node))
    throw badParam(`Invalid ${path}: must be the name of an event type, or *`, path);
  return node;
};

const address: Parser<string> = (node, path) => {
  const value = text()(node, path);
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    throw badParam('Not a valid URL', path, 'url_invalid');
  return value;
};

const version: Parser<string> = (node, path) => {
  if (typeof node !== 'string' || !/^\d{4}-\d{2}-\d{2}(\.[a-z]+)?$/.test(node))
    throw badParam('Invalid Stripe API version', path);
  return node;
};

const changeable = {
  description: clearable(text()),
  enabled_events: array(eventName, enabledEventsMax),
  metadata,
  url: address,
};

export const webhookEndpointOperations: readonly Operation[] = [
  operation(
    { name: 'webhook_endpoints.create', method: 'POST', path: 'webhook_endpoints' },
    {
      ...changeable,
      api_version: version,
      enabled_events: required(changeable.enabled_events),
      url: required(address),
    },
    ({ store }, params) => {
      if (store.webhookEndpoints.size >= endpointsMax)
        throw wrongState(`You have reached the maximum of ${endpointsMax} test webhook endpoints.`);
      return store.put(store.webhookEndpoints, {
        id: newId('we_'),
        object: 'webhook_endpoint',
        api_version: params.api_version ?? null,
        application: null,
        created: store.now(),
        description: params.description ?? null,
        enabled_events: [...params.enabled_events],
        livemode: false,
        metadata: applyMetadata({}, params.metadata),
        secret: newId('whsec_', 32),
        status: 'enabled',
        url: params.url,
      });
    },
  ),
  operation({ name: 'webhook_endpoints.retrieve', method: 'GET', path: 'webhook_endpoints/*' }, {}, (call) =>
    withoutSecret(existing(call)),
  ),
  operation(
    { name: 'webhook_endpoints.update', method: 'POST', path: 'webhook_endpoints/*' },
    { ...changeable, disabled: bool },
    (call, params) => {
      const before = existing(call);
      return withoutSecret(
        call.store.change(call.store.webhookEndpoints, before, {
          description: params.description === undefined ? before.description : params.description,
          enabled_events: [...(params.enabled_events ?? before.enabled_events)],
          metadata: applyMetadata(before.metadata, params.metadata),
          status: params.disabled === undefined ? before.status : params.disabled ? 'disabled' : 'enabled',
          url: params.url ?? before.url,
        }),
      );
    },
  ),
  operation(
    { name: 'webhook_endpoints.delete', method: 'DELETE', path: 'webhook_endpoints/*' },
    {},
    (call) => {
      const { id } = existing(call);
      call.store.remove(call.store.webhookEndpoints, id);
      return { id, object: 'webhook_endpoint', deleted: true };
    },
  ),
  operation(
    { name: 'webhook_endpoints.list', method: 'GET', path: 'webhook_endpoints' },
    listParams,
    ({ store }, params) => {
      const page = store.webhookEndpoints.list(
        cursorOf(params, (id) => store.webhookEndpoints.get(id) !== undefined),
      );
      return listOf('/v1/webhook_endpoints', { ...page, data: page.data.map(withoutSecret) });
    },
  ),
];

function existing({ store, ids: [id = ''] }: Call): WebhookEndpoint {
  const endpoint = store.webhookEndpoints.get(id);
  if (endpoint === undefined) throw missing('webhook endpoint', id);
  return endpoint;
}

/** The signing secret is shown once, when the endpoint is made. */
function withoutSecret({ secret: _, ...shown }: WebhookEndpoint): Omit<WebhookEndpoint, 'secret'> {
  return shown;
}
