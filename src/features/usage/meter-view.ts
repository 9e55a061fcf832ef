import type { Meter } from '#core/model/meter.ts';

/** A meter as the API shows it. */
export function meterView({ id, key, name, resets, active, createdAt, updatedAt }: Meter) {
  return {
    id,
    key,
    name,
    resets,
    active,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
