import type { Queryable } from '../../platform/postgres.ts';
import type { DescribedEvent, EventData, EventObjectType, EventType } from '../event.ts';

/** What the API shows of an object. */
export interface Shown {
  readonly id: string;
  /** The customer that it belongs to. */
  readonly customerId: string | null;
  readonly view: EventData;
  /** False if the API does not show it: it does not exist yet, or no longer. */
  readonly isVisible: boolean;
  /** Erased fields: events do not contain their old values. */
  readonly erased: readonly string[];
  /** When it changes by time alone. */
  readonly changesAt: Date | null;
  /** Ids by which the cause of a change is found. Its own ids come first. */
  readonly ids: readonly string[];
}

/** A kind of object whose changes are events. */
export interface ObjectKind {
  readonly type: EventObjectType;
  readonly table: string;
  find(db: Queryable, ids: readonly string[]): Promise<readonly Shown[]>;
  /** The row must come from the table of this kind. */
  show(row: object): Shown;
  /** The type of the event of a change. */
  typeOf(before: EventData, after: Shown): EventType;
  /** The event that follows the creation, if the creation alone does not say enough. */
  afterCreation(created: Shown): DescribedEvent | undefined;
}

interface Definition<Row, RowView> {
  readonly type: EventObjectType;
  readonly table: string;
  readonly find: (db: Queryable, ids: readonly string[]) => Promise<readonly Row[]>;
  readonly show: (
    row: Row,
  ) => Pick<Shown, 'id' | 'customerId' | 'ids'> &
    Partial<Pick<Shown, 'isVisible' | 'erased' | 'changesAt'>> & { readonly view: RowView };
  readonly typeOf: (before: RowView, after: RowView, isVisible: boolean) => EventType;
  readonly afterCreation?: (created: RowView) => DescribedEvent | undefined;
}

/** Erases the types of rows and views, so that all kinds can be handled alike. */
export function objectKind<Row extends object, RowView extends EventData>(
  definition: Definition<Row, RowView>,
): ObjectKind {
  const { type, table } = definition;
  const show = (row: object): Shown => {
    const { view, isVisible = true, erased = [], changesAt = null, ...rest } = definition.show(row as Row);
    return { ...rest, view: view as EventData, isVisible, erased, changesAt };
  };
  return {
    type,
    table,
    find: async (db, ids) => (await definition.find(db, ids)).map(show),
    show,
    typeOf: (before, after) =>
      definition.typeOf(before as unknown as RowView, after.view as unknown as RowView, after.isVisible),
    afterCreation: ({ view }) => definition.afterCreation?.(view as unknown as RowView),
  };
}
