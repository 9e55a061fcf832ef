import type { ListingStart, Pages } from '#processor/port/pages.ts';
import type { Mirror } from './mirror.ts';

/** A list of the processor, and the mirror of its objects. */
export interface MirroredList<Facts> {
  readonly mirror: Mirror<Facts>;
  list(filter: ListFilter): Pages<Facts>;
}

type ListFilter = ListingStart & { readonly processorCustomerId?: string };
