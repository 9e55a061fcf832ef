import type { SubscriptionStatus } from '#core/model/subscription.ts';
import type { Processor } from '#processor/port/processor.ts';

/**
 * Pages of payments that are searched for the newest successful one. More failures in a row are not worth the calls.
 */
const paymentPagesMax = 10;

/** The facts about a customer at the processor that decide about access. */
export interface Holdings {
  readonly isPaying: boolean;
  readonly liveCount: number;
  /** When its newest successful payment was created. */
  readonly paidAt: Date | null;
}

/** Whether a subscription with this status is paid for, or in its trial. */
export function isPaying(status: SubscriptionStatus): boolean {
  return status === 'active' || status === 'trialing';
}

/** Whether a subscription with this status gives access, or may give it again. */
export function isLive(status: SubscriptionStatus): boolean {
  return isPaying(status) || status === 'past_due' || status === 'unpaid';
}

export async function findHoldings(
  { subscriptions, payments }: Pick<Processor, 'subscriptions' | 'payments'>,
  processorCustomerId: string,
): Promise<Holdings> {
  const statuses: SubscriptionStatus[] = [];
  for await (const { items } of subscriptions.list({ processorCustomerId }))
    statuses.push(...items.map(({ status }) => status));
  let paidAt: Date | null = null;
  let pages = 0;
  for await (const { items } of payments.list({ processorCustomerId })) {
    paidAt = items.find(({ status }) => status === 'succeeded')?.createdAt ?? null;
    pages += 1;
    if (paidAt !== null || pages === paymentPagesMax) break;
  }
  return { isPaying: statuses.some(isPaying), liveCount: statuses.filter(isLive).length, paidAt };
}

/**
 * Sorts customers by what they would lose: first those who pay, then those with another live subscription, then by the
 * newest successful payment.
 */
export function holdsMore(a: Holdings, b: Holdings): number {
  return (
    Number(b.isPaying) - Number(a.isPaying) ||
    Number(b.liveCount > 0) - Number(a.liveCount > 0) ||
    (b.paidAt?.getTime() ?? 0) - (a.paidAt?.getTime() ?? 0)
  );
}

export function describeHoldings({ liveCount, paidAt }: Holdings): string {
  const live = liveCount === 0 ? 'no' : liveCount;
  const paid =
    paidAt === null ? 'no successful payment' : `its last payment on ${paidAt.toISOString().slice(0, 10)}`;
  return `${live} live subscription${liveCount === 1 ? '' : 's'} and ${paid}`;
}
