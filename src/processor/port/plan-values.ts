import type { Metadata } from '../../model/metadata.ts';
import type { PlanInterval } from '../../model/plan.ts';
import type { PlanFeatures } from '../../model/plan-features.ts';

export interface PlanValues {
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
  /** 1 if absent. */
  readonly intervalCount?: number;
  readonly features?: PlanFeatures;
  readonly group?: string;
  readonly metadata?: Metadata;
}
