import type { ListingStart, Pages } from '#processor/port/pages.ts';
import type { Mirror } from './mirror.ts';

/** A list of the processor, and the mirror of its objects. */
export interface MirroredList<Facts> {
  readonly mirror: Mirror<Facts>;
  list(filter: ListFilter): Pages<Facts>;
}

/** The list of some calls, for a mirror of the same facts. */
export function mirroredList<Facts>(
  mirror: Mirror<NoInfer<Facts>>,
  calls: Omit<MirroredList<Facts>, 'mirror'>,
): MirroredList<Facts> {
  return { mirror, list: (filter) => calls.list(filter) };
}

type ListFilter = ListingStart & { readonly processorCustomerId?: string };
