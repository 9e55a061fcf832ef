import type { RecurringSum } from '#core/model/monthly-amount.ts';
import { parseRecurring, type RecurringStatus } from '#features/subscriptions/subscription-overview.ts';
import type { Cell } from './cells.ts';

export type CellsByDay = ReadonlyMap<string, readonly Cell[]>;

/** Cells, added up by metric. */
export class Sums {
  readonly #sums = new Map<string, Pick<Cell, 'count' | 'amount'>>();

  constructor(cells: readonly Cell[]) {
    for (const cell of cells) this.#add(cell, 1);
  }

  subtract(cells: readonly Cell[]): void {
    for (const cell of cells) this.#add(cell, -1);
  }

  count(metric: string): number {
    return this.#sums.get(metric)?.count ?? 0;
  }

  amount(metric: string): bigint {
    return this.#sums.get(metric)?.amount ?? 0n;
  }

  recurring(status: RecurringStatus): readonly RecurringSum[] {
    return [...this.#sums].flatMap(([metric, { amount }]) => {
      const group = parseRecurring(metric);
      return group?.status === status ? [{ ...group, amount }] : [];
    });
  }

  #add({ metric, count, amount }: Cell, sign: 1 | -1): void {
    this.#sums.set(metric, {
      count: this.count(metric) + sign * count,
      amount: this.amount(metric) + BigInt(sign) * amount,
    });
  }
}

/** The sums of some days. */
export function sumDays(byDay: CellsByDay, days: readonly string[]): Sums {
  return new Sums(days.flatMap((day) => byDay.get(day) ?? []));
}
