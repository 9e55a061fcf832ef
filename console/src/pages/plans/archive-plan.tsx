import type { Plan } from '@till/client';
import { price } from '../../format/interval.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';

/** Ends the sale of a plan. */
export function ArchivePlan({ plan, onClose }: Closing & { readonly plan: Plan }) {
  return (
    <ActionDialog
      title="Archive plan"
      confirm="Archive plan"
      isDangerous
      done="Plan archived"
      onClose={onClose}
      act={(idempotencyKey) => till().plans.archive(plan.id, { idempotencyKey })}
    >
      <p>
        {plan.name} ({price(plan)}) can no longer be subscribed to, and no subscription can be changed to it.
      </p>
      <p>
        Existing subscriptions continue: they renew at the same price until they are canceled or changed. No
        customer is charged or refunded.
      </p>
    </ActionDialog>
  );
}
