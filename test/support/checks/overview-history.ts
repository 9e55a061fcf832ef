import type { Sql } from '../backend.ts';

interface View {
  readonly id: string;
  readonly customerId: string;
  readonly planId: string;
  readonly quantity: number;
  readonly addOns: readonly { readonly planId: string; readonly quantity: number }[];
  readonly status: string;
}

interface PlanRow {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: 'day' | 'week' | 'month' | 'year';
  readonly count: number;
}

const perYear = { day: 365n, week: 52n, month: 12n, year: 1n };

/**
 * The moves of monthly revenue, trials and recoveries of each day, from all events. It remembers every subscription,
 * and adds up those of a customer before and after each event: the overview stores only the sum, and adds the
 * difference.
 */
export async function computeHistory(sql: Sql, timeZone: string): Promise<readonly string[]> {
  const events = await sql<{ day: string; data: View }>(
    `select (created_at at time zone $1)::date::text as day, data from till.events
     where object_type = 'subscription' order by position`,
    [timeZone],
  );
  const plans = await sql<PlanRow>(
    'select id, amount, currency, interval, interval_count as count from till.plans',
  );
  const history = new History(new Map(plans.map((plan) => [plan.id, plan])));
  for (const { day, data } of events) history.take(day, data);
  return history.cells();
}

class History {
  readonly #plans: ReadonlyMap<string, PlanRow>;
  readonly #subscriptions = new Map<string, View>();
  readonly #subscribers = new Set<string>();
  readonly #cells = new Map<string, { count: number; amount: bigint }>();

  constructor(plans: ReadonlyMap<string, PlanRow>) {
    this.#plans = plans;
  }

  take(day: string, view: View): void {
    const before = this.#subscriptions.get(view.id);
    const currencies = new Set([...this.#plans.values()].map(({ currency }) => currency));
    const amountsOf = () => [...currencies].map((currency) => this.#amountOf(view.customerId, currency));
    const old = amountsOf();
    this.#subscriptions.set(view.id, view);
    const current = amountsOf();
    for (const [index, currency] of [...currencies].entries())
      this.#move(
        `${day} ${currency}`,
        `${view.customerId} ${currency}`,
        old[index] ?? 0n,
        current[index] ?? 0n,
      );
    const own = this.#plans.get(view.planId)?.currency;
    this.#turn(`${day} ${own}`, before?.status, view.status);
  }

  cells(): readonly string[] {
    return [...this.#cells].map(([key, { count, amount }]) => `${key} ${count} ${amount}`).sort();
  }

  #move(at: string, subscriber: string, old: bigint, current: bigint): void {
    if (old === current) return;
    const isReturning = this.#subscribers.has(subscriber);
    if (current > 0n) this.#subscribers.add(subscriber);
    if (old === 0n) this.#add(`${at} mrr.${isReturning ? 'reactivated' : 'new'}`, current);
    else if (current === 0n) this.#add(`${at} mrr.churned`, old);
    else if (current > old) this.#add(`${at} mrr.expansion`, current - old);
    else this.#add(`${at} mrr.contraction`, old - current);
  }

  #turn(at: string, old: string | undefined, current: string): void {
    if (old === current) return;
    if (current === 'trialing') this.#add(`${at} trials.started`);
    if (current === 'past_due') this.#add(`${at} recovery.failed`);
    if (old === 'trialing')
      this.#add(`${at} trials.${['active', 'past_due'].includes(current) ? 'converted' : 'expired'}`);
    if (old === 'past_due')
      this.#add(`${at} recovery.${['active', 'trialing'].includes(current) ? 'recovered' : 'lost'}`);
  }

  #add(key: string, amount = 0n): void {
    const sum = this.#cells.get(key) ?? { count: 0, amount: 0n };
    this.#cells.set(key, { count: sum.count + 1, amount: sum.amount + amount });
  }

  /** The sum of the rounded monthly amounts of all subscriptions of a customer. */
  #amountOf(customerId: string, currency: string): bigint {
    const own = [...this.#subscriptions.values()].filter((view) => view.customerId === customerId);
    return own
      .filter(({ status }) => status === 'active' || status === 'past_due')
      .map((view) => this.#monthly(view, currency))
      .reduce((sum, amount) => sum + amount, 0n);
  }

  #monthly({ planId, quantity, addOns }: View, currency: string): bigint {
    const items = [{ planId, quantity }, ...addOns].flatMap((item) => {
      const plan = this.#plans.get(item.planId);
      return plan?.currency === currency ? [{ plan, units: BigInt(item.quantity) }] : [];
    });
    const denominator = items.reduce((product, { plan }) => product * BigInt(plan.count), 12n);
    const numerator = items.reduce(
      (sum, { plan, units }) =>
        sum +
        (BigInt(plan.amount) * units * perYear[plan.interval] * denominator) / (12n * BigInt(plan.count)),
      0n,
    );
    const floor = numerator / denominator;
    return 2n * (numerator % denominator) >= denominator ? floor + 1n : floor;
  }
}
