import { Failure, isDefiniteRefusal } from '../../errors.ts';
import type { OperationWrite } from '../../idempotency/operation.ts';
import type { Subscription } from '../../model/subscription.ts';
import type { Processor } from '../../processor/port/processor.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import { readChangeable } from './change-terms.ts';
import type { MadeChange } from './subscription-change.ts';

/** One attempt for the request itself, and one for each of two changes that come between its calls. */
const attemptsMax = 3;

/**
 * Makes a change that takes several calls. If the processor refuses it and the subscription is not what the calls assumed,
 * it was changed outside Till meanwhile: the change starts again from what the processor shows now. A refusal has no
 * effect, so the next attempt has processor keys of its own.
 */
export async function retryIfOvertaken(
  { processor }: { readonly processor: Pick<Processor, 'subscriptionChanges'> },
  subscription: Subscription,
  write: OperationWrite,
  change: (found: ChangeableSubscription, write: OperationWrite) => Promise<MadeChange>,
): Promise<MadeChange> {
  for (let tries = 1; ; tries += 1) {
    const found = await readChangeable(processor, subscription);
    const key = write.idempotencyKey;
    try {
      return await change(found, tries === 1 ? write : { ...write, idempotencyKey: `${key}-try${tries}` });
    } catch (error) {
      const isOvertaken =
        isConcurrentChange(error) ||
        (isDefiniteRefusal(error) &&
          stateOf(await readChangeable(processor, subscription)) !== stateOf(found));
      if (!isOvertaken) throw error;
      if (tries === attemptsMax) throw concurrentChange();
    }
  }
}

/** The subscription was changed outside Till between the calls of this request. */
export function concurrentChange(): Failure {
  return new Failure(
    'concurrent_change',
    'The subscription was changed outside Till at the same time. Repeat this request.',
  );
}

function isConcurrentChange(error: unknown): boolean {
  return error instanceof Failure && error.code === 'concurrent_change';
}

/** What the calls of a change depend on, as a text to compare. */
function stateOf({
  subscription,
  isPaused,
  items,
  processorScheduleId,
  pendingUpdate,
}: ChangeableSubscription): string {
  const { status, cancelAt, cancelAtPeriodEnd, items: facts } = subscription;
  return JSON.stringify({
    ...{ status, isPaused, cancelAt, cancelAtPeriodEnd, items, processorScheduleId, pendingUpdate },
    periods: facts.map(({ currentPeriodStart, currentPeriodEnd }) => [currentPeriodStart, currentPeriodEnd]),
  });
}
