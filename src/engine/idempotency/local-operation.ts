import type { Transaction } from '#core/platform/postgres.ts';
import type { CheckedOperation } from './operation.ts';

interface LocalSteps<Request, Result> {
  readonly name: string;
  /** The object to change. Null when one is created. */
  parentIdOf(request: Request): string | null;
  /** Throws if the request must be refused. */
  check(request: Request): Promise<void>;
  /** May also throw if the request must be refused. */
  write(tx: Transaction, id: string, request: Request): Promise<Result>;
  /** The object of a request that was completed before. */
  read(id: string): Promise<Result>;
}

export type LocalOperation<Request, Result> = CheckedOperation<Request, Request, Request, Result>;

/**
 * The steps of creating or changing an object that only Till has. It needs no call to the processor: everything is
 * written in the transaction that completes the claim, so an unfinished claim has had no effect.
 */
export function localOperation<Request, Result>(
  steps: LocalSteps<Request, Result>,
): LocalOperation<Request, Result> {
  const { name, parentIdOf, check, write, read } = steps;
  return {
    name,
    isLocal: true,
    parentIdOf,
    prepare: async (request) => {
      await check(request);
      return request;
    },
    call: async (request) => request,
    record: async (tx, id, request) => ({ result: await write(tx, id, request) }),
    find: async () => null,
    replay: (id, { parentId }) => read(parentId ?? id),
  };
}
