import type { Collection } from '../state/collection.ts';
import type { WireObject } from './objects.ts';
import { missing } from './wire-error.ts';

/** The object with this id. If there is none, throws the processor's error for the parameter that named it. */
export function existing<T extends WireObject>(
  collection: Collection<T>,
  id: string,
  param = 'id',
  createdSince = 0,
): T {
  const found = collection.get(id, createdSince);
  if (found === undefined) throw missing(collection.noun, id, param);
  return found;
}
