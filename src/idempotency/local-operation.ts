import type { Transaction } from '../platform/postgres.ts';
import type { ClaimOperation } from './claim.ts';
import type { CheckedOperation, FoundClaim, Recorded } from './operation.ts';

interface Steps<Request, Result> {
  readonly name: ClaimOperation;
  /** The object to change. Null when one is created. */
  parentIdOf(request: Request): string | null;
  /** Throws if the request must be refused. */
  check(request: Request): Promise<void>;
  write(tx: Transaction, id: string, request: Request): Promise<Result>;
  /** The object of a request that was completed before. */
  read(id: string): Promise<Result>;
}

/**
 * The steps of creating or changing an object that only Till has. It needs no call to the processor: everything is
 * written in the transaction that completes the claim, so an unfinished claim has had no effect.
 */
export class LocalOperation<Request, Result> implements CheckedOperation<Request, Request, Request, Result> {
  readonly name: ClaimOperation;
  readonly #steps: Steps<Request, Result>;

  constructor(steps: Steps<Request, Result>) {
    this.name = steps.name;
    this.#steps = steps;
  }

  parentIdOf(request: Request): string | null {
    return this.#steps.parentIdOf(request);
  }

  async prepare(request: Request): Promise<Request> {
    await this.#steps.check(request);
    return request;
  }

  async call(request: Request): Promise<Request> {
    return request;
  }

  async record(tx: Transaction, id: string, request: Request): Promise<Recorded<Result>> {
    return { result: await this.#steps.write(tx, id, request) };
  }

  async find(): Promise<null> {
    return null;
  }

  replay(id: string, { parentId }: FoundClaim): Promise<Result> {
    return this.#steps.read(parentId ?? id);
  }
}
