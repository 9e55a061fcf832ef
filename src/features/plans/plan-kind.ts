import type { Plan } from '#core/model/plan.ts';
import { objectKind } from '#engine/events/outbox/object-kind.ts';
import { type PlanView, planView } from './plan-fields.ts';

export const planEvents = {
  objectType: 'plan',
  shownBy: 'GET /plans/{id}',
  meanings: {
    'plan.created': 'A plan was created.',
    'plan.updated':
      'The name, the features, the group or the metadata of a plan changed, or it is active again.',
    'plan.archived': 'A plan was archived, in Till or at the processor.',
  },
} as const;

type PlanEventType = keyof typeof planEvents.meanings;

export const planKind = objectKind({
  events: planEvents,
  table: 'plans',
  show: (row: Plan) => ({
    id: row.id,
    customerId: null,
    view: planView(row),
    ids: [row.id, row.processorPriceId, row.processorProductId],
  }),
  typeOf: planEventType,
});

export function planEventType(before: PlanView, after: PlanView): PlanEventType {
  return before.active && !after.active ? 'plan.archived' : 'plan.updated';
}
