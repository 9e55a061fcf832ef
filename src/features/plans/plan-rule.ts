import type { EventRule } from '#engine/sync/event-rule.ts';
import type { PlanMirror } from './plan-mirror.ts';

/** Products and prices share the rows of plans. */
export function planRule(plans: PlanMirror): EventRule {
  return {
    sharedRows: {
      subjects: ['product', 'price'],
      lock: (tx, about) => plans.lock(tx, about('product'), about('price')),
    },
  };
}
