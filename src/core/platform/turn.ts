import { AsyncLocalStorage } from 'node:async_hooks';

/** The right to change an object at the processor, for a limited time, while no other process does. */
interface Turn {
  /** Extends the turn if it could end during a call of this length. Throws if another process has the turn. */
  require(callMs: number): Promise<void>;
}

/** Follows the work through every await, so that every call to the processor is covered. */
const turns = new AsyncLocalStorage<Turn>();

/** Every call to the processor that `work` makes requires the turn. */
export function runInTurn<Result>(turn: Turn, work: () => Result): Result {
  return turns.run(turn, work);
}

/** The turn that the next call to the processor requires. Undefined for work that needs none. */
export function currentTurn(): Turn | undefined {
  return turns.getStore();
}
