import type { Plan } from '#core/model/plan.ts';
import type { EventType } from '#engine/events/event.ts';
import { objectKind } from '#engine/events/outbox/object-kind.ts';
import { type PlanView, planView } from './plan-view.ts';

export const planKind = objectKind({
  type: 'plan',
  table: 'plans',
  show: (row: Plan) => ({
    id: row.id,
    customerId: null,
    view: planView(row),
    ids: [row.id, row.processorPriceId, row.processorProductId],
  }),
  typeOf: planEventType,
});

export function planEventType(before: PlanView, after: PlanView): EventType {
  return before.active && !after.active ? 'plan.archived' : 'plan.updated';
}
