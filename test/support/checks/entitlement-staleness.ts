import assert from 'node:assert/strict';
import type { Stripe } from 'stripe';
import { newestTaken, type Taken } from './staleness.ts';
import { coversUntilTruth, idOf, mainItemTruth } from './subscription-truth.ts';

/** One subscription as the entitlements of its customer show it. */
export interface ShownEntitlement {
  readonly processorSubscriptionId: string;
  readonly entitled: boolean;
  readonly reason: string;
  readonly until: string | null;
}

interface Indexed<Object> {
  readonly index: number;
  readonly object: Object;
}

/**
 * No entitlement is older than the newest event that Till has processed: it follows from that version of the
 * subscription and the invoices that are known to be paid, or from later ones. `events` are all of the processor's,
 * oldest first, read after the entitlements, which were read `from` a time `to` another by the processor's clock.
 */
export function assertEntitledNotOlder(
  shown: readonly ShownEntitlement[],
  events: readonly Stripe.Event[],
  taken: Taken,
  { days, from, to }: { readonly days: number; readonly from: Date; readonly to: Date },
): void {
  const { newest } = newestTaken(events, taken);
  const subscriptions = Map.groupBy(ofKind<Stripe.Subscription>(events, 'subscription'), ({ object }) =>
    String(object.id),
  );
  const invoices = Map.groupBy(
    ofKind<Stripe.Invoice>(events, 'invoice').filter(({ object }) => object.status === 'paid'),
    ({ object }) => idOf(object.parent?.subscription_details?.subscription ?? null),
  );
  const stale = shown.flatMap(({ processorSubscriptionId: id, entitled, reason, until }) => {
    const known = newest.get(id);
    const versions = subscriptions.get(id) ?? [];
    if (known === undefined || versions.length === 0) return [];
    const current = versions.filter(({ index }) => index <= known).at(-1)?.index ?? 0;
    const ends = paidEnds(invoices.get(id) ?? [], newest);
    const allowed = versions
      .filter(({ index }) => index >= current)
      .flatMap(({ object }) =>
        ends.flatMap((end) =>
          [from, to].map((now) => JSON.stringify(judge(object, end, { days, nowMs: now.getTime() }))),
        ),
      );
    const row = JSON.stringify([entitled, reason, until]);
    return allowed.includes(row) ? [] : [{ id, row, allowed }];
  });
  assert.deepEqual(stale, []);
}

function ofKind<Object>(events: readonly Stripe.Event[], kind: string): readonly Indexed<Object>[] {
  return events.flatMap(({ data: { object } }, index) =>
    // The kind says which type it has.
    object.object === kind ? [{ index, object: object as Object }] : [],
  );
}

/** Until when the subscription may be paid: as the invoices say that are known to be paid, or a later one. */
function paidEnds(
  paid: readonly Indexed<Stripe.Invoice>[],
  newest: ReadonlyMap<string, number>,
): readonly (number | null)[] {
  const rank = (one: Indexed<Stripe.Invoice>) =>
    [one.object.created, coversUntilTruth(one.object) ?? 0] as const;
  const sorted = paid
    .filter(({ object }) => coversUntilTruth(object) !== null)
    .toSorted((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
  const isKnown = ({ index, object }: Indexed<Stripe.Invoice>) =>
    (newest.get(object.id ?? '') ?? -1) >= index;
  const last = sorted.findLastIndex(isKnown);
  const ends = sorted.slice(Math.max(last, 0)).map(({ object }) => coversUntilTruth(object));
  return last === -1 ? [null, ...ends] : ends;
}

function judge(
  subscription: Stripe.Subscription,
  paidEnd: number | null,
  { days, nowMs }: { readonly days: number; readonly nowMs: number },
): readonly [boolean, string, string | null] {
  const { status, trial_end: trialEnd } = subscription;
  const timeOf = (seconds: number | null) =>
    seconds === null ? null : new Date(seconds * 1_000).toISOString();
  switch (status) {
    case 'active':
      return [true, status, timeOf(mainItemTruth(subscription)?.current_period_end ?? null)];
    case 'trialing':
      return [true, status, timeOf(trialEnd)];
    case 'past_due': {
      const end = paidEnd === null ? null : paidEnd + days * 86_400;
      const isGrace = end !== null && nowMs < end * 1_000;
      return [isGrace, isGrace ? 'grace' : status, timeOf(end)];
    }
    case 'paused':
      return [false, 'unpaid', null];
    case 'incomplete_expired':
      return [false, 'incomplete', null];
    default:
      return [false, status, null];
  }
}
