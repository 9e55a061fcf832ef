import type { FastifyInstance } from 'fastify';
import type { OperationTag } from '#http/docs/docs.ts';
import type { SweptOperation } from './idempotency/sweeper.ts';

/**
 * Everything that a resource announces to the rest of the service. `Context` is what it needs of the composition: the
 * parts of the platform, the mirrors and the services that it names.
 */
export interface Feature<Context = never> {
  /** The groups of its operations, for the reference. */
  readonly tags?: readonly OperationTag[];
  readonly routes?: (app: FastifyInstance, context: Context) => void;
  /** All operations with an idempotency key. The sweeper settles those that were abandoned. */
  readonly operations?: (context: Context) => readonly SweptOperation[];
}
