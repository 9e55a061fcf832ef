import { newId } from '../ids.ts';
import { eventTypes } from '../webhooks/event-types.ts';
import { checkVersion } from '../wire/api-version.ts';
import { shorten } from '../wire/form.ts';
import type { WebhookEndpoint } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** More than the number of event types. */
const enabledEventsMax = 500;
/** The processor's own limit in test mode. */
const endpointsMax = 16;

const eventName: p.Parser<string> = (node, path) => {
  const name = p.text()(node, path);
  if (name !== '*' && !eventTypes.has(name))
    throw badParam(`Invalid ${path}: must be an event type or *, not ${shorten(name)}`, path);
  return name;
};

const address: p.Parser<string> = (node, path) => {
  const value = p.url(node, path);
  if (!/^https?:/.test(value)) throw badParam('Not a valid URL', path, 'url_invalid');
  return value;
};

const version: p.Parser<string> = (node, path) => checkVersion(p.text()(node, path), path);

const changeable = {
  description: p.clearable(p.text()),
  enabled_events: p.array(eventName, enabledEventsMax),
  metadata: p.metadata,
  url: address,
};

const webhookEndpoints = new Resource('webhook_endpoints', (store) => store.webhookEndpoints, {
  show: (_store, endpoint) => withoutSecret(endpoint),
});

export const webhookEndpointOperations = [
  webhookEndpoints.create(
    {
      ...changeable,
      api_version: version,
      enabled_events: p.required(changeable.enabled_events),
      url: p.required(address),
    },
    ({ store }, params) => {
      if (store.webhookEndpoints.size >= endpointsMax)
        throw wrongState(`You have reached the maximum of ${endpointsMax} test webhook endpoints.`);
      return store.put(store.webhookEndpoints, {
        ...store.blank(store.webhookEndpoints, 'webhook_endpoint'),
        api_version: params.api_version ?? null,
        application: null,
        description: params.description ?? null,
        enabled_events: [...params.enabled_events],
        metadata: p.applyMetadata({}, params.metadata),
        secret: newId('whsec_', 32),
        status: 'enabled',
        url: params.url,
      });
    },
  ),
  webhookEndpoints.retrieve(),
  webhookEndpoints.update({ ...changeable, disabled: p.bool }, ({ store }, before, params) => {
    const { description, disabled, url: to } = params;
    return store.change(store.webhookEndpoints, before, {
      ...p.present({ description, url: to }),
      enabled_events: [...(params.enabled_events ?? before.enabled_events)],
      metadata: p.applyMetadata(before.metadata, params.metadata),
      status: disabled === undefined ? before.status : disabled ? 'disabled' : 'enabled',
    });
  }),
  webhookEndpoints.delete((store, { id }) => store.remove(store.webhookEndpoints, id)),
  webhookEndpoints.list({}, { hasCreated: false }),
];

/** Only the response to the creation shows the signing secret. */
function withoutSecret({ secret: _, ...shown }: WebhookEndpoint): Omit<WebhookEndpoint, 'secret'> {
  return shown;
}
