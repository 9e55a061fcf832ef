import { formOf } from '../control/control-input.ts';
import { keepDecline } from '../control/customer.ts';
import { operations } from '../resources/operations.ts';
import { requestTime } from '../wire/request-clock.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';

const byName = new Map(operations.map((operation) => [operation.name, operation]));

/**
 * Does what a request to the API does, so that actions on a page have the same effects and the same events. As in the
 * API, a declined card throws an error and leaves its failed attempt.
 */
export async function callApi<T extends object>(
  world: World,
  name: string,
  id: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<T> {
  const operation = byName.get(name);
  if (operation === undefined) throw new Error(`the API has no operation ${name}`);
  const { store } = world;
  const call = world.callOn(id);
  const form = formOf(fields, name);
  const outcome = store.clock.at(requestTime(operation, call, form), () =>
    store.transact(null, () => keepDecline(() => operation.run(call, form))),
  );
  await store.written();
  if (outcome instanceof WireError) throw outcome;
  // The operation determines the type.
  return outcome as T;
}
