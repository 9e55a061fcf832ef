import { Failure } from '#core/errors.ts';
import type { Resource } from '#core/model/facts.ts';
import type { Database, Queryable, Transaction } from '#core/platform/postgres.ts';
import { notReached, objectMissing } from '#processor/port/attempt.ts';
import type { Attempt } from '#processor/port/processor.ts';
import { parentOf } from '../idempotency/claim.ts';
import type { CheckedOperation, FoundClaim, OperationWrite, Recorded } from '../idempotency/operation.ts';
import type { Mirror } from './mirror.ts';
import { applyInTransaction, correct, untilSettled } from './refresh.ts';

export interface UpdateRequest<Change> {
  readonly id: string;
  readonly change: Change;
}

/** The processor's response, and the row before the request. */
export interface Updated<Row, Facts> {
  /** Null if there was nothing to change. */
  readonly facts: Facts | null;
  readonly row: Row;
}

/** The parts of a change that differ between the kinds of objects. */
interface UpdateOptions<Row, Change, Facts> {
  readonly name: CheckedOperation<unknown, unknown, unknown, unknown>['name'];
  readonly resource: Resource;
  readonly database: Database;
  readonly mirror: Mirror<never>;
  /** The mirror of what the processor returns, which may be a part of the object. */
  readonly partMirror: Mirror<Facts>;
  /** The key of the object in `mirror`. */
  keyOf(row: Row): string;
  /** Fails if there is no such row. */
  findRow(db: Queryable, id: string): Promise<Row>;
  send(row: Row, change: Change, idempotencyKey: string): Promise<Attempt<Facts>>;
  /** Null if the processor does not know the object. */
  read(row: Row): Promise<Facts | null>;
  /** Whether the processor accepted the change but does not show it. */
  isIgnored(row: Row, change: Change, facts: Facts): boolean;
  /** Ends what the claim of a change reserves. Called once the row shows the change. */
  endReservation?(db: Database, claimId: string): Promise<void>;
}

export type UpdateOperation<Row, Change, Facts> = CheckedOperation<
  UpdateRequest<Change>,
  Row,
  Updated<Row, Facts>,
  Row
>;

/** The steps of changing an object, after its row was found and the change was checked. */
export function updateSteps<
  Row extends { readonly id: string; readonly revision: number },
  Change extends object,
  Facts extends { readonly metadata: object | null },
>(options: UpdateOptions<Row, Change, Facts>) {
  const { name, resource, database, mirror, partMirror, keyOf, findRow } = options;
  const refresh = async (row: Row, claimId: string): Promise<Row> => {
    await correct(mirror, keyOf(row));
    await options.endReservation?.(database, claimId);
    return findRow(database, row.id);
  };
  return {
    name,
    isChange: true as const,
    parentIdOf: ({ id }: UpdateRequest<Change>) => id,
    async call(
      { change }: UpdateRequest<Change>,
      row: Row,
      { idempotencyKey, isRepeated }: OperationWrite,
    ): Promise<Updated<Row, Facts>> {
      if (Object.keys(change).length === 0) return { facts: null, row };
      const attempt = await options.send(row, change, idempotencyKey);
      if (attempt.outcome !== 'done') {
        await correct(mirror, keyOf(row));
        // Fails if the object was deleted at the processor and the event has not arrived yet.
        await findRow(database, row.id);
        throw notReached(attempt, resource, 'unchanged');
      }
      if (isRepeated || attempt.isReplayed || attempt.value.metadata === null) {
        const facts = await options.read(row);
        if (facts === null) throw objectMissing(resource);
        return { facts, row };
      }
      if (options.isIgnored(row, change, attempt.value)) throw notReached(attempt, resource, 'unchanged');
      return { facts: attempt.value, row };
    },
    async record(tx: Transaction, _id: string, { facts, row }: Updated<Row, Facts>): Promise<Recorded<Row>> {
      const applied = facts && (await applyInTransaction(tx, partMirror, facts, row));
      return { result: await findRow(tx, row.id), ...applied };
    },
    refresh,
    /** Nothing at the processor shows whether a change took effect. Repeating it has the same effect. */
    find: async () => null,
    /** The processor sends no event about some changes, such as those of the metadata of a finished payment. */
    async correct(claim: FoundClaim): Promise<void> {
      const row = await findRow(database, parentOf(claim)).catch(undefinedIfGone);
      // If the processor does not know the object, the row stays as it is, and the claim can still be settled.
      if (row !== undefined) await untilSettled(() => mirror.refresh(keyOf(row)));
    },
    /** The first request may have died before it refreshed a row that had changed meanwhile. */
    replay: async (id: string, claim: FoundClaim) => refresh(await findRow(database, parentOf(claim)), id),
  };
}

function undefinedIfGone(error: unknown): undefined {
  if (error instanceof Failure && error.code === 'not_found') return undefined;
  throw error;
}
