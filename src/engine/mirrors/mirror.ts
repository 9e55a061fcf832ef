import type { Applied, Resource, Source } from '#core/model/facts.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { Processor } from '#processor/port/processor.ts';

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

/** What mirrors and the features get: the platform and the processor. */
export interface MirrorContext extends Platform {
  readonly processor: Processor;
}
