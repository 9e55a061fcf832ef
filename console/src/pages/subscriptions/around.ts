import type { Entitlement, PaymentMethod, Plan, Subscription } from '@till/client';
import type { Closing } from '../../parts/dialog.tsx';

/** What the page and the dialogs of a subscription show. */
export interface Around {
  readonly subscription: Subscription;
  readonly plans: readonly Plan[];
  readonly cards: readonly PaymentMethod[];
  /** Undefined if it is not known. */
  readonly entitlement: Entitlement | undefined;
}

export type DialogProps = Around & Closing;
