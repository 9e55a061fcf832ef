import type { PlanInterval } from '../../model/plan.ts';
import type { Attempt } from './attempt.ts';

interface Keyed {
  readonly idempotencyKey: string;
}

/** Changes at the end of a period. The processor keeps them in a schedule, which names all that the subscription has. */
export interface ScheduleCalls {
  /** Puts a subscription under a schedule that changes nothing yet. `wrong_state` also if it has one. */
  create(order: Keyed & { readonly processorSubscriptionId: string }): Promise<Attempt<null>>;
  /**
   * Plans a change for the end of the period, instead of any that the schedule has. Discounts, the payment method and a
   * requested end stay. Does nothing if the subscription has no schedule any more. `wrong_state` also if it has another
   * price.
   */
  planChange(change: Keyed & PlannedChange): Promise<Attempt<null>>;
  /** Sets the payment method of the subscription and of everything that its schedule plans. */
  setPaymentMethod(
    order: Keyed & { readonly processorSubscriptionId: string; readonly paymentMethodId: string },
  ): Promise<Attempt<null>>;
  /** The subscription goes on after the last phase of its schedule. What the schedule plans stays. */
  clearEnd(order: Keyed & { readonly processorScheduleId: string }): Promise<Attempt<null>>;
  /** The subscription stays as it is, and still ends if it was to end. */
  release(order: Keyed & { readonly processorScheduleId: string }): Promise<Attempt<null>>;
}

export interface PlannedChange {
  readonly processorSubscriptionId: string;
  /** The price of the item to change. */
  readonly presentPriceId: string;
  readonly processorPriceId: string;
  readonly quantity: number;
  /** Of the new price. */
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  /** Whether the change starts a new billing cycle. */
  readonly startsCycle: boolean;
}
