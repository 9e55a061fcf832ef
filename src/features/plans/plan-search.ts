import type { Plan } from '#core/model/plan.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byFields, byIds, byKey, type SearchSource } from '#engine/search/search-source.ts';
import { comparedWith } from '#engine/search/searched-words.ts';
import type { PlanStore } from './plan-store.ts';

export function planSources(store: PlanStore): readonly SearchSource[] {
  return [
    byIds(store, showPlan),
    byKey((db, text) => store.findByProductIds(db, [text]), showPlan),
    byFields((...by) => store.searchNames(...by), showPlan, ['name'], comparedWith),
  ];
}

function showPlan({ id, name, amount, currency, interval, active, createdAt }: Plan): Found {
  const status = active ? 'active' : 'archived';
  const shown = { objectType: 'plan', objectId: id, label: name, description: interval };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}
