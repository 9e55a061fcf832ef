/** Refusals of meters, events, API keys and the rest of what operators use. */
import { randomUUID } from 'node:crypto';
import { createCustomer } from '../../support/objects.ts';
import { createEndpoint, rightRequest, unknownId } from '../../support/right-requests.ts';
import { appendForIds, idOfPlace } from '../../support/stored-events.ts';
import { createMeter, usageOf } from '../../support/usage.ts';
import { eventOf } from '../../support/webhook-events.ts';
import { succeed } from './everywhere.ts';
import type { Recipe, Recipes, Scene } from './recipe.ts';

export const operating: Recipes = {
  not_found: {
    'GET /api/v1/usage': () => ({ query: `?customerId=${unknownId}&meter=x` }),
    'GET /api/v1/usage/events': () => ({ query: `?customerId=${unknownId}` }),
    'POST /api/v1/usage/consume': (scene) => consuming(scene, { customerId: unknownId }),
    'POST /api/v1/resyncs': () => ({ body: { customerId: unknownId } }),
    // The endpoint that the request created is gone.
    'POST /api/v1/event-endpoints': async (scene, operation) => {
      const request = {
        ...(await rightRequest(scene, operation)),
        headers: { 'idempotency-key': randomUUID() },
      };
      const { id } = await scene.send(operation, request);
      await scene.call('DELETE', `/event-endpoints/${id}`);
      return request;
    },
    // The sandbox is embedded in the other process.
    'POST /api/v1/sandbox/reset': ({ pair }) => ({ to: pair[1] }),
  },
  meter_key_taken: {
    'POST /api/v1/meters': async (scene) => {
      const { key, name, resets } = await createMeter(scene);
      return { body: { key, name: `${name} of others`, resets } };
    },
  },
  meter_archived: {
    'POST /api/v1/usage/consume': async (scene) => {
      const meter = await createMeter(scene);
      await scene.post(`/meters/${meter.id}/archive`);
      return consuming(scene, { meter: meter.key });
    },
  },
  id_reused: {
    'POST /api/v1/usage/consume': async (scene) => {
      const request = await consuming(scene, {});
      await scene.post('/usage', { events: [request.body] });
      return { body: { ...request.body, quantity: 2 } };
    },
  },
  event_expired: {
    'GET /api/v1/events': async (scene) => ({ query: `?after=${await expired(scene)}` }),
    'GET /api/v1/events/{id}': async (scene) => ({ id: await expired(scene) }),
    'GET /api/v1/events/{id}/deliveries': async (scene) => ({ id: await expired(scene) }),
    'POST /api/v1/events/{id}/resend': async (scene) => ({ id: await expired(scene) }),
    'POST /api/v1/event-endpoints/{id}/replay': async (scene) => ({
      id: await createEndpoint(scene),
      body: { after: await expired(scene) },
    }),
  },
  endpoint_disabled: {
    'POST /api/v1/events/{id}/resend': async (scene) => ({
      id: (await appendForIds(scene.sql, [{}]))[0] ?? '',
      body: { endpointId: await disabled(scene) },
    }),
    'POST /api/v1/event-endpoints/{id}/resend-failed': async (scene) => ({ id: await disabled(scene) }),
  },
  too_many_event_secrets: {
    'POST /api/v1/event-endpoints/{id}/rotate-secret': async (scene) => {
      const id = await createEndpoint(scene);
      for (let secrets = 1; secrets < 5; secrets += 1)
        await scene.post(`/event-endpoints/${id}/rotate-secret`);
      return { id };
    },
  },
  unsupported_media_type: {
    'POST /webhooks/processor': async (scene, operation) => {
      const request = await succeed(scene, operation);
      return { ...request, headers: { ...request.headers, 'content-encoding': 'gzip' } };
    },
  },
  // It is refused once more than 1 MiB has arrived.
  payload_too_large: {
    'POST /webhooks/processor': () => ({ raw: ' '.repeat(1_048_577) }),
  },
  invalid_signature: {
    'POST /webhooks/processor': () => ({
      raw: eventOf('balance.available'),
      headers: { 'stripe-signature': 't=1,v1=00' },
    }),
  },
};

/** Those that change what other requests see at the same time, so that they are sent alone. */
export const operatingAlone: Recipes = {
  too_many_meters: {
    'POST /api/v1/meters': filled(
      `insert into till.meters (id, key, name, resets, created_at, updated_at)
       select gen_random_uuid(), 'full' || number, 'full', 'month', now(), now() from generate_series(1, 100) as number`,
      `delete from till.meters where name = 'full'`,
    ),
  },
  too_many_event_endpoints: {
    'POST /api/v1/event-endpoints': filled(
      `insert into till.event_endpoints (id, url, secret, position, enabled, disabled_at, disabled_reason, description,
         created_at, updated_at)
       select gen_random_uuid(), 'https://shop.example.com/', 'none', 0, false, now(), 'request', 'full', now(), now()
       from generate_series(1, 50)`,
      `delete from till.event_endpoints where description = 'full'`,
    ),
  },
  too_many_api_keys: {
    'POST /api/v1/api-keys': filled(
      `insert into till.api_keys (id, name, scopes, digest, created_at)
       select gen_random_uuid(), 'full', '{read}', sha256('full'), now() from generate_series(1, 1000)`,
      `delete from till.api_keys where name = 'full'`,
    ),
  },
  resync_running: {
    'POST /api/v1/resyncs': async (scene) => {
      await scene.setFault({ operation: 'customers.list', kind: 'hang', times: 1 });
      await scene.post('/resyncs');
      await scene.faultsTaken();
      return { undo: () => scene.clearFaults() };
    },
  },
};

/** There is a maximum, and so many exist. */
function filled(fill: string, empty: string): Recipe {
  return async (scene, operation) => {
    const request = await rightRequest(scene, operation);
    await scene.sql(fill);
    return { ...request, undo: () => scene.sql(empty) };
  };
}

async function consuming(scene: Scene, values: object) {
  const meter = await createMeter(scene);
  return { body: { ...usageOf(await createCustomer(scene), meter), ...values } };
}

function expired({ sql }: Scene): Promise<string> {
  return idOfPlace(sql, 1, Date.parse('2020-01-01T00:00:00Z'));
}

async function disabled(scene: Scene): Promise<string> {
  const id = await createEndpoint(scene);
  await scene.call('PATCH', `/event-endpoints/${id}`, { enabled: false });
  return id;
}
