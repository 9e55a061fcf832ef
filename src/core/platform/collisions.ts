import { Failure } from '../errors.ts';
import { codeOf } from './unavailable.ts';

/** Each collision lets the other transaction finish, so more than two in a row are rare. */
const attemptsMax = 5;

/**
 * Repeats work whose transaction PostgreSQL has rolled back because it collided with another one, for example in a
 * deadlock between transactions that create the same rows. For background work, which no caller repeats.
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
