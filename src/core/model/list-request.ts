/** The values of a request by the names of their parameters. */
export type FilterValues = Readonly<Record<string, string | undefined>>;

export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}

/** A page by its number, or the page after a cursor. */
export interface ListRequest {
  readonly limit: number;
  readonly page?: number | undefined;
  readonly cursor?: string | undefined;
  /** Such as `-amount`. Default: newest first. */
  readonly sort?: string | undefined;
  /** For a page of an export, which needs no total: the number of rows to skip before it. */
  readonly skip?: number | undefined;
  /** For an export: the cursor of the last row to read. The row itself may have left the list. */
  readonly upTo?: string | undefined;
  readonly filters: FilterValues;
}

export interface ListPage<Item> extends PageRequest {
  readonly data: readonly Item[];
  readonly total: number;
  /** True if there are more than `total`. */
  readonly totalCapped: boolean;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** The orders that the requests of a list can ask for. The first one is the default. */
export function sortNames(amounts: readonly string[] = []): readonly string[] {
  return ['createdAt', ...amounts].flatMap((field) => [`-${field}`, field]);
}
