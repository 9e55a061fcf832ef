import type { MeterTerms } from '#core/model/meter.ts';
import type { Database } from '#core/platform/postgres.ts';
import type { CustomerIds, CustomerTerms } from '../subscriptions/entitlements/entitlement-service.ts';
import type { MeterStore } from './meter-store.ts';
import type { GivenUsage } from './usage-batch.ts';

/** The customer and the meter of an event. The meter may be archived. */
export interface UsageSubject<Terms extends CustomerTerms> {
  readonly customer: Terms;
  readonly meter: MeterTerms;
}

/** Why an event has no customer or no meter. */
interface UnknownSubject {
  readonly code: 'customer_not_found' | 'meter_not_found';
}

/**
 * Finds the customers and the meters of a batch. The terms of customers contain all active meters. Archived meters, of
 * which there may be any number, are looked up only if an event names one.
 */
export async function findSubjects<Terms extends CustomerTerms>(
  { database, meters }: { readonly database: Database; readonly meters: MeterStore },
  events: readonly GivenUsage[],
  findTerms: (ids: CustomerIds) => Promise<readonly Terms[]>,
): Promise<(event: GivenUsage) => UsageSubject<Terms> | UnknownSubject> {
  const customers = await findTerms(customerIdsOf(events));
  const byId = new Map(customers.map((one) => [one.customerId, one]));
  const byExternalId = new Map(customers.map((one) => [one.externalId, one]));
  const byKey = new Map(customers[0]?.meters.map((meter) => [meter.key, meter]));
  const others = new Set(events.flatMap(({ meter }) => (byKey.has(meter) ? [] : meter)));
  if (customers.length > 0 && others.size > 0)
    for (const meter of await meters.findByKeys(database, [...others])) byKey.set(meter.key, meter);
  return ({ customerId, externalId, meter: key }) => {
    const customer =
      customerId === undefined ? byExternalId.get(externalId ?? '') : byId.get(customerId.toLowerCase());
    if (customer === undefined) return { code: 'customer_not_found' };
    const meter = byKey.get(key);
    return meter === undefined ? { code: 'meter_not_found' } : { customer, meter };
  };
}

/** The ids of the customers that events name. */
function customerIdsOf(events: readonly GivenUsage[]): CustomerIds {
  return {
    ids: [...new Set(events.flatMap(({ customerId }) => customerId?.toLowerCase() ?? []))],
    externalIds: [...new Set(events.flatMap(({ externalId }) => externalId ?? []))],
  };
}
