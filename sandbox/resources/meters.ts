import type { Operation } from '../wire/operation.ts';
import { object, oneOf, required, text } from '../wire/params.ts';
import { Resource } from './resource.ts';

const payloadKey = required(text());

/** Meters of metered prices. The sandbox counts no usage. */
const meters = new Resource('meters', (store) => store.meters, { path: 'billing/meters' });

export const meterOperations: readonly Operation[] = [
  meters.operation(
    'create',
    'POST',
    {
      customer_mapping: object({ event_payload_key: payloadKey, type: required(oneOf('by_id')) }),
      default_aggregation: required(object({ formula: required(oneOf('count', 'last', 'sum')) })),
      display_name: required(text()),
      event_name: required(text()),
      event_time_window: oneOf('day', 'hour'),
      value_settings: object({ event_payload_key: payloadKey }),
    },
    ({ store }, params) => {
      const now = store.now();
      const meter = store.put(store.meters, {
        id: store.meters.newId(),
        object: 'billing.meter',
        created: now,
        customer_mapping: params.customer_mapping ?? {
          event_payload_key: 'stripe_customer_id',
          type: 'by_id',
        },
        default_aggregation: params.default_aggregation,
        display_name: params.display_name,
        event_name: params.event_name,
        event_time_window: params.event_time_window ?? null,
        livemode: false,
        status: 'active',
        status_transitions: { deactivated_at: null },
        updated: now,
        value_settings: params.value_settings ?? { event_payload_key: 'value' },
      });
      store.emit('billing.meter.created', meter);
      return meter;
    },
  ),
  meters.retrieve(),
  meters.listWithoutCreated({ status: oneOf('active', 'inactive') }, { equal: ['status'] }),
];
