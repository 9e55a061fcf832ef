import type { RecurringKind } from '#engine/overview/counted-kind.ts';
import type { Cell } from './cells.ts';

/** The customer's monthly amount in one currency, according to the counted events. */
export interface Subscriber {
  readonly customerId: string;
  readonly currency: string;
  readonly amount: bigint;
  /** Whether the amount was ever above zero. */
  readonly wasSubscriber: boolean;
}

/** A change of a customer's monthly amount in one currency. */
export interface AmountChange {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly currency: string;
  readonly difference: bigint;
}

/** The current sum of all monthly amounts. Its count is the number of subscribers. */
export const totalMetric = 'mrr.total';
/** How the sum moves. Amounts are positive: `contraction` and `churned` reduce the sum. */
export const moveMetrics = {
  new: 'mrr.new',
  expansion: 'mrr.expansion',
  contraction: 'mrr.contraction',
  churned: 'mrr.churned',
  reactivated: 'mrr.reactivated',
} as const;
export type Move = keyof typeof moveMetrics;

/** How an event changes the monthly amounts of the customer. `before` is null if it created the object. */
export function amountChangesOf(
  kind: RecurringKind,
  before: unknown,
  after: unknown,
): readonly AmountChange[] {
  const differences = new Map(kind.monthlyAmountsOf(after));
  for (const [currency, amount] of before === null ? [] : kind.monthlyAmountsOf(before))
    differences.set(currency, (differences.get(currency) ?? 0n) - amount);
  const { id: subscriptionId, customerId } = kind.ownerOf(after);
  return [...differences].flatMap(([currency, difference]) =>
    difference === 0n ? [] : [{ customerId, subscriptionId, currency, difference }],
  );
}

/** The subscribers that a batch of events changes. */
export class SubscriberMoves {
  readonly #subscribers: Map<string, Subscriber>;
  readonly #changed = new Set<string>();

  constructor(subscribers: readonly Subscriber[]) {
    this.#subscribers = new Map(subscribers.map((one) => [keyOf(one), one]));
  }

  /** Makes a change. Returns its cells: the current sum, and the move on the day of the change. */
  make(
    change: Omit<AmountChange, 'subscriptionId'>,
    { now, day }: { readonly now: string; readonly day: string },
  ): { readonly total: Cell; readonly move: Cell } {
    const { customerId, currency, difference } = change;
    const key = keyOf(change);
    const { amount, wasSubscriber } = this.#subscribers.get(key) ?? { amount: 0n, wasSubscriber: false };
    const later = amount + difference;
    const [was, is] = [amount > 0n, later > 0n];
    this.#changed.add(key);
    this.#subscribers.set(key, {
      ...{ customerId, currency, amount: later },
      wasSubscriber: wasSubscriber || is,
    });
    const move = moveOf({ was, is, wasSubscriber, isMore: difference > 0n });
    return {
      total: {
        ...{ day: now, currency, metric: totalMetric },
        ...{ count: Number(is) - Number(was), amount: difference },
      },
      move: {
        ...{ day, currency, metric: moveMetrics[move], count: 1 },
        amount: difference > 0n ? difference : -difference,
      },
    };
  }

  /** The subscribers that have changed, in their current state. */
  changed(): readonly Subscriber[] {
    return [...this.#changed].flatMap((key) => this.#subscribers.get(key) ?? []);
  }
}

function moveOf(change: {
  readonly was: boolean;
  readonly is: boolean;
  readonly wasSubscriber: boolean;
  readonly isMore: boolean;
}): Move {
  if (!change.was && change.is) return change.wasSubscriber ? 'reactivated' : 'new';
  if (change.was && !change.is) return 'churned';
  return change.isMore ? 'expansion' : 'contraction';
}

export function keyOf({ customerId, currency }: Pick<Subscriber, 'customerId' | 'currency'>): string {
  return `${customerId} ${currency}`;
}
