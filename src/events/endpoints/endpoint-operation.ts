import type { ClaimOperation } from '../../idempotency/claim.ts';
import type { CheckedOperation, FoundClaim, Recorded } from '../../idempotency/operation.ts';
import type { Transaction } from '../../platform/postgres.ts';
import type { EventEndpoint } from './endpoint.ts';

interface Steps<Request> {
  readonly name: ClaimOperation;
  /** The endpoint to change. Null when one is created. */
  parentIdOf(request: Request): string | null;
  /** Throws if the request must be refused. */
  check(request: Request): Promise<void>;
  write(tx: Transaction, id: string, request: Request): Promise<EventEndpoint>;
  /** The endpoint of a request that was completed before. */
  read(id: string): Promise<EventEndpoint>;
}

/**
 * The steps of creating or changing an endpoint. It needs no call to the processor: everything is written in the
 * transaction that completes the claim, so an unfinished claim has had no effect.
 */
export class EndpointOperation<Request>
  implements CheckedOperation<Request, Request, Request, EventEndpoint>
{
  readonly name: ClaimOperation;
  readonly #steps: Steps<Request>;

  constructor(steps: Steps<Request>) {
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

  async record(tx: Transaction, id: string, request: Request): Promise<Recorded<EventEndpoint>> {
    return { result: await this.#steps.write(tx, id, request) };
  }

  async find(): Promise<null> {
    return null;
  }

  replay(id: string, { parentId }: FoundClaim): Promise<EventEndpoint> {
    return this.#steps.read(parentId ?? id);
  }
}
