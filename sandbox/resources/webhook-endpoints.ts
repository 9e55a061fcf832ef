import { newId } from '../ids.ts';
import { eventTypes } from '../webhooks/event-types.ts';
import { checkVersion } from '../wire/api-version.ts';
import { shorten } from '../wire/form.ts';
import type { WebhookEndpoint } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  metadata,
  type Parser,
  present,
  required,
  text,
  url,
} from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** More than the number of event types. */
const enabledEventsMax = 500;
/** The processor's own limit in test mode. */
const endpointsMax = 16;

const eventName: Parser<string> = (node, path) => {
  const name = text()(node, path);
  if (name !== '*' && !eventTypes.has(name))
    throw badParam(`Invalid ${path}: must be an event type or *, not ${shorten(name)}`, path);
  return name;
};

const address: Parser<string> = (node, path) => {
  const value = url(node, path);
  if (!/^https?:/.test(value)) throw badParam('Not a valid URL', path, 'url_invalid');
  return value;
};

const version: Parser<string> = (node, path) => checkVersion(text()(node, path), path);

const changeable = {
  description: clearable(text()),
  enabled_events: array(eventName, enabledEventsMax),
  metadata,
  url: address,
};

const webhookEndpoints = new Resource('webhook_endpoints', (store) => store.webhookEndpoints, {
  show: (_store, endpoint) => withoutSecret(endpoint),
});

export const webhookEndpointOperations: readonly Operation[] = [
  webhookEndpoints.operation(
    'create',
    'POST',
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
        id: store.webhookEndpoints.newId(),
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
  webhookEndpoints.retrieve(),
  webhookEndpoints.operation('update', 'POST *', { ...changeable, disabled: bool }, (call, params) => {
    const before = webhookEndpoints.existing(call);
    const { description, disabled, url: to } = params;
    return withoutSecret(
      call.store.change(call.store.webhookEndpoints, before, {
        ...present({ description, url: to }),
        enabled_events: [...(params.enabled_events ?? before.enabled_events)],
        metadata: applyMetadata(before.metadata, params.metadata),
        status: disabled === undefined ? before.status : disabled ? 'disabled' : 'enabled',
      }),
    );
  }),
  webhookEndpoints.delete((store, { id }) => store.remove(store.webhookEndpoints, id)),
  webhookEndpoints.listWithoutCreated({}),
];

/** Only the response to the creation shows the signing secret. */
function withoutSecret({ secret: _, ...shown }: WebhookEndpoint): Omit<WebhookEndpoint, 'secret'> {
  return shown;
}
