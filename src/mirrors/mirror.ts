import type { Transaction } from '../platform/postgres.ts';
import type { Applied, Source } from './fold.ts';

/** The mirrored resources, as metrics, logs and messages name them. */
export const resources = [
  'customer',
  'plan',
  'payment',
  'refund',
  'dispute',
  'subscription',
  'invoice',
] as const;

export type Resource = (typeof resources)[number];

/**
 * Till's rows for one kind of object at the processor. Webhooks, recovery, resync, the sweeper and API responses all
 * change rows through it. The key of an object is the processor's id.
 */
export interface Mirror<Facts> {
  readonly resource: Resource;
  keyOf(facts: Facts): string;
  /** Applies facts to the rows, and creates rows for objects that belong to Till and have none. */
  apply(tx: Transaction, facts: readonly Facts[], source: Source): Promise<Applied>;
  /** Reads the object from the processor and applies its facts. No transaction is open during the read. */
  refresh(key: string): Promise<Applied>;
}
