import type { DescribedEvent, EventData, EventTypes } from '../event.ts';

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
  /** The end of the grace period that entitles the customer of a subscription. Null if no grace period does. */
  readonly graceEndsAt: Date | null;
  /** Ids by which the cause of a change is found. Its own ids come first. */
  readonly ids: readonly string[];
}

/** A kind of object whose changes are events. */
export interface ObjectKind {
  readonly type: string;
  readonly table: string;
  /**
   * The row must come from the table of this kind. `before` is given for the row before a change: whether a grace
   * period entitled the customer at that time, as the newest event shows.
   */
  show(row: object, before?: { readonly isInGrace: boolean }): Shown;
  /** Whether the row may show that a grace period entitles the customer. */
  mayBeInGrace(row: object): boolean;
  /** The type of the event of a change. A change has one event: if several types fit, the first one counts. */
  typeOf(before: Shown, after: Shown): string;
  /** The event that follows the creation, for a state that applications must not miss. */
  afterCreation(created: Shown): DescribedEvent | undefined;
}

interface Definition<Row, RowView, Type extends string> {
  readonly events: EventTypes<Type>;
  readonly table: string;
  readonly show: (
    row: Row,
    before?: { readonly isInGrace: boolean },
  ) => Pick<Shown, 'id' | 'customerId' | 'ids'> &
    Partial<Pick<Shown, 'isVisible' | 'erased' | 'graceEndsAt'>> & { readonly view: RowView };
  readonly mayBeInGrace?: (row: Row) => boolean;
  readonly typeOf: (before: RowView, after: RowView, isVisible: boolean) => NoInfer<Type>;
  readonly afterCreation?: (created: RowView) => DescribedEvent<NoInfer<Type>> | undefined;
}

/** Erases the types of rows and views, so that all kinds can be handled alike. */
export function objectKind<Row extends object, RowView extends EventData, Type extends string>(
  definition: Definition<Row, RowView, Type>,
): ObjectKind {
  const { events, table } = definition;
  return {
    type: events.objectType,
    table,
    show: (row, before) => {
      const {
        view,
        isVisible = true,
        erased = [],
        graceEndsAt = null,
        ...rest
      } = definition.show(row as Row, before);
      return { ...rest, view: view as EventData, isVisible, erased, graceEndsAt };
    },
    mayBeInGrace: (row) => definition.mayBeInGrace?.(row as Row) ?? false,
    typeOf: (before, after) =>
      definition.typeOf(before.view as unknown as RowView, after.view as unknown as RowView, after.isVisible),
    afterCreation: ({ view }) => definition.afterCreation?.(view as unknown as RowView),
  };
}

/** The ids of a row that it has. */
export function idsOf(...ids: readonly (string | null)[]): readonly string[] {
  return ids.filter((id) => id !== null);
}
