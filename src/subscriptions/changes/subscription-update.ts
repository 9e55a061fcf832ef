import {
  type Admission,
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
  type ReleasedClaim,
  type WriteTurn,
} from '../../idempotency/operation.ts';
import { applyInTransaction, applyResponse, correct } from '../../mirrors/refresh.ts';
import { isGrouped } from '../../model/plan.ts';
import { foundSubscription, hasEnded, type Subscription } from '../../model/subscription.ts';
import type { Queryable, Transaction } from '../../platform/postgres.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import { type Joining, reserveGroup } from '../reserve-group.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import { changeAtPeriodEnd } from './change-at-period-end.ts';
import { changeMetadata } from './change-metadata.ts';
import { changeNow, endAbandonedChange } from './change-now.ts';
import { type ChangePlans, plansOfChange, readChangeable } from './change-terms.ts';
import { retryIfOvertaken } from './retry-overtaken.ts';
import type { ChangedSubscription, MadeChange } from './subscription-change.ts';
import type { SubscriptionPatch, WantedTerms } from './subscription-patch.ts';
import { changeSettings } from './subscription-settings.ts';
import { restoreOfVoidedChanges } from './waiting-items.ts';

export interface SubscriptionUpdateRequest {
  readonly subscriptionId: string;
  readonly change: SubscriptionPatch;
}

/** Makes the change that the request asks for. */
type Change = (write: OperationWrite) => Promise<MadeChange>;

/** The steps of changing a subscription. What the change does is in a module for each kind of change. */
export class SubscriptionUpdate
  implements CheckedOperation<SubscriptionUpdateRequest, Change, MadeChange, ChangedSubscription>
{
  readonly name = 'subscriptions.update';
  readonly isChange = true;
  readonly #parts: SubscriptionParts;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  parentIdOf({ subscriptionId }: SubscriptionUpdateRequest): string {
    return subscriptionId;
  }

  inTurn<T>(claim: FoundClaim, work: (turn: WriteTurn) => Promise<T>): Promise<T> {
    return this.#parts.turns.runClaim(claim, work);
  }

  async prepare(
    { subscriptionId, change }: SubscriptionUpdateRequest,
    id: string,
    admission: Admission,
  ): Promise<Change> {
    const parts = this.#parts;
    const subscription = await this.#find(parts.database, subscriptionId);
    if (change.kind === 'now') {
      const plans = await this.#plansOf(subscription, change, { claimId: id, admission });
      return this.#inSteps(subscription, (found, write) => changeNow(parts, change, plans, found, write));
    }
    if (change.kind === 'periodEnd') {
      const plans = await this.#plansOf(subscription, change, { claimId: id, admission });
      return this.#inSteps(subscription, (found, write) =>
        changeAtPeriodEnd(parts, change, plans, found, write),
      );
    }
    if (change.metadata !== undefined)
      await parts.customers.refuseMetadataChange(subscription, change.metadata);
    if (change.kind === 'settings')
      return this.#inSteps(subscription, (found, write) =>
        changeSettings(parts, change, found, subscription, write),
      );
    return (write) => changeMetadata(parts, change, subscription, write);
  }

  /** Reads the plans of a change, and reserves the group of the new one before the processor is called. */
  async #plansOf(
    subscription: Subscription,
    change: WantedTerms,
    claim: Pick<Joining, 'claimId' | 'admission'>,
  ): Promise<ChangePlans> {
    const plans = await plansOfChange(this.#parts.plans, subscription, change);
    const { customerId, id: subscriptionId, planId } = subscription;
    const { wanted } = plans;
    if (wanted !== null && wanted.id !== planId && isGrouped(wanted))
      await this.#parts.database.transaction((tx) =>
        reserveGroup(tx, this.#parts, { customerId, planId: wanted.id, subscriptionId, ...claim }),
      );
    return plans;
  }

  /** A change that may drop another one: an earlier call may have died between voiding its invoice and what follows. */
  #inSteps(
    subscription: Subscription,
    change: (found: ChangeableSubscription, write: OperationWrite) => Promise<MadeChange>,
  ): Change {
    return async (write) => {
      if (write.isRepeated)
        await restoreOfVoidedChanges(this.#parts.processor, subscription.processorSubscriptionId);
      return retryIfOvertaken(this.#parts, subscription, write, change);
    };
  }

  call(_request: SubscriptionUpdateRequest, change: Change, write: OperationWrite): Promise<MadeChange> {
    return change(write);
  }

  async record(
    tx: Transaction,
    id: string,
    { facts, subscription, clientSecret, failure }: MadeChange,
  ): Promise<Recorded<ChangedSubscription>> {
    const { mirror, groups } = this.#parts;
    const { needsRefresh } = await applyInTransaction(tx, mirror, facts, subscription);
    await groups.endReservation(tx, id);
    return {
      result: { subscription: await this.#find(tx, subscription.id), clientSecret },
      needsRefresh,
      ...(failure === undefined ? {} : { failure }),
    };
  }

  async refresh({ subscription, clientSecret }: ChangedSubscription): Promise<ChangedSubscription> {
    const { mirror, database } = this.#parts;
    await correct(mirror, subscription.processorSubscriptionId);
    return { subscription: await this.#find(database, subscription.id), clientSecret };
  }

  /**
   * A change of plan or quantity that was made is found by its mark. Repeating any other change has the same effect. A change
   * that was declined must not wait for a payment, whether or not the request is repeated.
   */
  async find(claim: FoundClaim): Promise<MadeChange | null> {
    const subscription = await this.#find(this.#parts.database, parentOf(claim));
    return hasEnded(subscription.status) ? null : endAbandonedChange(this.#parts, subscription, claim);
  }

  async release(tx: Transaction, { resourceId }: ReleasedClaim): Promise<void> {
    await this.#parts.groups.endReservation(tx, resourceId);
  }

  /**
   * The first request may have died before it could refresh a row that had changed meanwhile. If the change still waits,
   * its secret is read again.
   */
  async replay(_id: string, claim: FoundClaim): Promise<ChangedSubscription> {
    const { database, mirror, processor } = this.#parts;
    const subscription = await this.#find(database, parentOf(claim));
    const present = await readChangeable(processor, subscription);
    await applyResponse(database, mirror, present.subscription, subscription);
    const invoiceId = present.pendingUpdate?.processorInvoiceId ?? null;
    const charge = invoiceId === null ? null : await processor.subscriptionChanges.readCharge(invoiceId);
    return {
      subscription: await this.#find(database, subscription.id),
      clientSecret: charge?.clientSecret ?? null,
    };
  }

  async #find(db: Queryable, id: string): Promise<Subscription> {
    return foundSubscription((await this.#parts.store.find(db, [id]))[0]);
  }
}
