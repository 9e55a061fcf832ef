import * as p from '../wire/params.ts';
import { Resource } from './resource.ts';

const payloadKey = p.required(p.text());

/** Meters of metered prices. The sandbox counts no usage. */
const meters = new Resource('meters', (store) => store.meters, { path: 'billing/meters' });

export const meterOperations = [
  meters.create(
    {
      customer_mapping: p.object({ event_payload_key: payloadKey, type: p.required(p.oneOf('by_id')) }),
      default_aggregation: p.required(p.object({ formula: p.required(p.oneOf('count', 'last', 'sum')) })),
      display_name: p.required(p.text()),
      event_name: p.required(p.text()),
      event_time_window: p.oneOf('day', 'hour'),
      value_settings: p.object({ event_payload_key: payloadKey }),
    },
    ({ store }, params) => {
      const now = store.now();
      return store.record('billing.meter.created', store.meters, {
        ...store.blank(store.meters, 'billing.meter', now),
        customer_mapping: params.customer_mapping ?? {
          event_payload_key: 'stripe_customer_id',
          type: 'by_id',
        },
        default_aggregation: params.default_aggregation,
        display_name: params.display_name,
        event_name: params.event_name,
        event_time_window: params.event_time_window ?? null,
        status: 'active',
        status_transitions: { deactivated_at: null },
        updated: now,
        value_settings: params.value_settings ?? { event_payload_key: 'value' },
      });
    },
  ),
  meters.retrieve(),
  meters.list({ status: p.oneOf('active', 'inactive') }, { hasCreated: false }),
];
