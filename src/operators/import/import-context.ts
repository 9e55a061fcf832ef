import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import type { CustomerService } from '#features/customers/customer-service.ts';
import type { Mirrors } from '#features/mirrors.ts';
import type { PlanService } from '#features/plans/plan-service.ts';
import type { EntitlementService } from '#features/subscriptions/entitlements/entitlement-service.ts';

/** What an import uses of the features. Its mirrors adopt every object. */
export interface ImportContext extends MirrorContext {
  readonly mirrors: Mirrors;
  readonly customers: Pick<CustomerService, 'adoptExternalId'>;
  readonly plans: Pick<PlanService, 'list'>;
  readonly entitlements: Pick<EntitlementService, 'isEntitled'>;
}
