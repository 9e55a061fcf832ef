import type { Transaction } from '../platform/postgres.ts';
import type { Adoption } from './adoption.ts';
import type { ClaimOperation } from './claim.ts';

/** One creation, in the steps that must survive a crash between any two of them. */
export interface Creation<Made, Result> extends Adoption<Made, Result> {
  readonly operation: ClaimOperation;
  /** The caller's, if it sent one. */
  readonly key: string | undefined;
  /** What makes two requests the same. */
  readonly request: unknown;
  readonly parentId: string | null;
  /** Checks and reserves, in the transaction of the claim; may run again for the same id. */
  readonly reserve?: (tx: Transaction, id: string) => Promise<void>;
  /** Checks, where there is nothing to reserve; needs no transaction. */
  readonly check?: () => Promise<void>;
  /** Calls the processor. No transaction is open meanwhile. */
  readonly call: (id: string, processorKey: string) => Promise<Made>;
  /** Writes the row with a single statement, where that will do; undefined if there is one already. */
  readonly insert?: (id: string, made: Made) => Promise<Result | undefined>;
  /** The result of a request that was completed before. */
  readonly replay: (id: string) => Promise<Result>;
}

export interface Created<Result> {
  readonly result: Result;
  readonly replayed: boolean;
}
