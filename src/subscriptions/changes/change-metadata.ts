import type { OperationWrite } from '../../idempotency/operation.ts';
import { correct } from '../../mirrors/refresh.ts';
import { isSubscriptionChangeIgnored, type Subscription } from '../../model/subscription.ts';
import { notReached, objectMissing } from '../../processor/refused-write.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import type { MadeChange } from './subscription-change.ts';
import type { MetadataPatch } from './subscription-patch.ts';

/** Changes the metadata, which is possible in every status. */
export async function changeMetadata(
  { processor, mirror }: SubscriptionParts,
  change: MetadataPatch,
  subscription: Subscription,
  { idempotencyKey, isRepeated }: OperationWrite,
): Promise<MadeChange> {
  const { processorSubscriptionId } = subscription;
  const { metadata } = change;
  const attempt = await processor.subscriptions.update({ metadata, processorSubscriptionId, idempotencyKey });
  if (attempt.outcome !== 'done') {
    await correct(mirror, processorSubscriptionId);
    throw notReached(attempt, 'subscription', 'unchanged');
  }
  const made = { subscription, clientSecret: null };
  if (isRepeated || attempt.isReplayed || attempt.value.metadata === null) {
    const present = await processor.subscriptions.read(processorSubscriptionId);
    if (present === null) throw objectMissing('subscription');
    return { ...made, facts: present.subscription };
  }
  if (isSubscriptionChangeIgnored(subscription, change, attempt.value))
    throw notReached(attempt, 'subscription', 'unchanged');
  return { ...made, facts: attempt.value };
}
