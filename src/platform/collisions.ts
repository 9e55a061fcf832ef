import { Failure } from '../errors.ts';
import { codeOf } from './unavailable.ts';

/** Each collision lets another transaction go on. Far more than happen one after the other. */
const attemptsMax = 5;

/**
 * Repeats work whose transaction collided with another one, such as a deadlock between transactions that create the same
 * rows. PostgreSQL has rolled it back. For background work, which has no caller that repeats it.
 */
export async function repeatCollisions<T>(work: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempts >= attemptsMax || !isCollision(error)) throw error;
    }
  }
}

/** Whether an error of `Database` is a rollback, which is class 40. */
function isCollision(error: unknown): boolean {
  return error instanceof Failure && codeOf(error.cause)?.startsWith('40') === true;
}
