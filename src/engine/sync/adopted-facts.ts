import type { OwnFacts } from '#core/model/facts.ts';
import { derivedId } from '#core/platform/id.ts';
import type { Pages } from '#processor/port/pages.ts';

/**
 * The Till id of an object that Till did not create. It derives from the processor's id, so that an object that is
 * adopted again after the restore of a backup gets the same id. Nothing is written at the processor.
 */
export function withLocalId<Facts extends OwnFacts>(facts: Facts, kind: string, processorId: string): Facts {
  return facts.localId === null
    ? { ...facts, localId: derivedId(kind, processorId, facts.createdAt) }
    : facts;
}

export function ifFound<T>(value: T | null, map: (value: T) => T): T | null {
  return value === null ? null : map(value);
}

export async function* mapItems<T>(pages: Pages<T>, map: (item: T) => T): Pages<T> {
  for await (const page of pages) yield { ...page, items: page.items.map(map) };
}
