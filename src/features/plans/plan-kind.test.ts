import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanView } from './plan-fields.ts';
import { planEventType } from './plan-kind.ts';

test('a plan is archived', () => {
  const plan = { active: true } as PlanView;
  assert.equal(planEventType(plan, { ...plan, active: false }), 'plan.archived');
  assert.equal(planEventType({ ...plan, active: false }, plan), 'plan.updated');
});
