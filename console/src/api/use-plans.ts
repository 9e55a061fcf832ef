import type { Plan } from '@till/client';
import { till } from '../session.ts';
import { type Resource, useResource } from './use-resource.ts';

/** All plans, to show their names. A company has few of them, and the API lists them at once. */
export function usePlans(): Resource<readonly Plan[]> {
  return useResource(
    (options) => till().plans.list({}, options),
    [],
    ({ objectType }) => objectType === 'plan',
  );
}

export function planOf(plans: readonly Plan[] | undefined, id: string | null): Plan | undefined {
  return plans?.find((plan) => plan.id === id);
}
