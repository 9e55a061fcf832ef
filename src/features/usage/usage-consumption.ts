import { Failure, invalidRequest } from '#core/errors.ts';
import { type Cause, currentCause } from '#core/platform/cause.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import type { CustomerTermsWithUsage } from '../subscriptions/entitlements/entitlement-service.ts';
import {
  admit,
  type Consumption,
  consumptionOf,
  fits,
  type Outcome,
  repeated,
  type Wanted,
} from './usage-admission.ts';
import {
  type BatchWindow,
  type GivenUsage,
  instantOf,
  isSameUsage,
  keyOf,
  keyText,
  type TimedUsage,
  UsageBatch,
} from './usage-batch.ts';
import { findPastPeriods, type UsageParts } from './usage-service.ts';
import { findSubjects, type UsageSubject } from './usage-subject.ts';
import { timeRange } from './usage-time.ts';

/**
 * How late a consumption may be: long enough for a retry after an outage, and not longer, because the window may have
 * ended.
 */
const lateMax = 3_600_000_000n;
/** While one transaction commits, another can be prepared. */
const runningMax = 2;

interface Item extends TimedUsage {
  readonly application: string;
  readonly cause: Cause | undefined;
}

/** Checks and counts in one step. Concurrent requests share their statements. */
export class UsageConsumption {
  readonly #parts: UsageParts;
  readonly #shared: SharedStatement<Item, Outcome>;

  constructor(parts: UsageParts) {
    this.#parts = parts;
    this.#shared = new SharedStatement({ run: (items) => this.#run(items), runningMax });
  }

  /** Counts the quantity only if it fits into the window of `at`. */
  async consume(application: string, event: GivenUsage): Promise<Consumption> {
    const at = instantOf(event);
    const { from, to } = await timeRange(this.#parts, at, lateMax);
    if (at < from) throw invalidRequest('body.at', 'must be at most an hour ago');
    if (at > to) throw invalidRequest('body.at', 'must be at most 5 minutes ahead');
    const outcome = await this.#shared.add({ application, event, at, cause: currentCause() });
    if (outcome instanceof Failure) throw outcome;
    return outcome;
  }

  async #run(items: readonly Item[]): Promise<readonly Outcome[]> {
    const { entitlements, metrics } = this.#parts;
    const subjectOf = await findSubjects(
      this.#parts,
      items.map(({ event }) => event),
      (ids) => entitlements.findTermsWithUsage(ids),
    );
    const subjects = items.map((item) => ({ ...item, ...subjectOf(item.event) }));
    const found = subjects.flatMap((one) => ('customer' in one ? [one] : []));
    const batch = new UsageBatch(await findPastPeriods(this.#parts, found));
    const wanted = subjects.map((one) =>
      'customer' in one ? wantedOf(one, one, batch.windowFor(one.customer, one.meter, one.at)) : one.code,
    );
    const outcomes = await this.#decide(wanted.filter((one) => typeof one !== 'string'));
    return wanted.map((one) => {
      const outcome = typeof one === 'string' ? refusalOf(one) : outcomes.get(one);
      if (outcome === undefined) throw new Error('a consumption has no outcome');
      if (!(outcome instanceof Failure))
        metrics.usageConsumptions.inc({ result: outcome.allowed ? 'allowed' : 'refused' });
      return outcome;
    });
  }

  /**
   * A quantity that does not fit, or whose meter is archived, is refused without a write, unless it was counted before.
   * Quantities that fit according to the counters that were read are decided under the locks of the counters.
   */
  async #decide(wanted: readonly Wanted[]): Promise<ReadonlyMap<Wanted, Outcome>> {
    const isFitting = ({ isArchived, window, usedBefore, quantity }: Wanted) =>
      !isArchived && fits(window, usedBefore, quantity);
    const outcomes = new Map(await this.#refuse(wanted.filter((one) => !isFitting(one))));
    let left = wanted.filter(isFitting);
    while (left.length > 0) {
      for (const [one, outcome] of await admit(this.#parts, withoutConflicts(left)))
        outcomes.set(one, outcome);
      left = left.filter((one) => !outcomes.has(one));
    }
    return outcomes;
  }

  /** The counters were read earlier, so a quantity that they contain already is found here. */
  async #refuse(wanted: readonly Wanted[]): Promise<readonly (readonly [Wanted, Outcome])[]> {
    const { database, store } = this.#parts;
    const stored = wanted.length === 0 ? [] : await store.find(database, wanted.map(keyOf));
    const known = new Map(stored.map((row) => [keyText(row), row]));
    return wanted.map((one) => {
      const { isArchived, window, usedBefore: used } = one;
      const first = known.get(keyText(keyOf(one)));
      if (first !== undefined) return [one, repeated(first, one, used)];
      return [one, isArchived ? refusalOf('meter_archived') : consumptionOf(window, false, used)];
    });
  }
}

/** Leaves out events that have the id of an earlier one and other content. They are decided after it. */
function withoutConflicts(wanted: readonly Wanted[]): readonly Wanted[] {
  const first = new Map<string, Wanted>();
  return wanted.filter((one) => {
    const key = keyText(keyOf(one));
    const earlier = first.get(key) ?? one;
    first.set(key, earlier);
    return isSameUsage({ ...earlier, ...earlier.window }, one, one.window);
  });
}

function wantedOf(
  { application, event, at, cause }: Item,
  { customer, meter }: UsageSubject<CustomerTermsWithUsage>,
  window: BatchWindow,
): Wanted {
  const { meterId, startsAt: start, windowNumber } = window;
  const usedBefore = customer.usedIn(meterId, { start, windowNumber });
  const { id, quantity = 1 } = event;
  return { application, id, at, quantity, window, usedBefore, cause, isArchived: !meter.active };
}

function refusalOf(code: 'customer_not_found' | 'meter_not_found' | 'meter_archived'): Failure {
  switch (code) {
    case 'customer_not_found':
      return new Failure('not_found', 'No customer has this id. Check customerId or externalId.');
    case 'meter_not_found':
      return new Failure('not_found', 'No meter has this key. Check meter.');
    case 'meter_archived':
      return new Failure(
        'meter_archived',
        'The meter is archived, so its usage is not counted any more. Use an active meter.',
      );
  }
}
