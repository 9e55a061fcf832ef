import type { EventType } from '../events/event.ts';
import { objectKind } from '../events/outbox/object-kind.ts';
import type { Plan } from '../model/plan.ts';
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
