import type { FastifyInstance } from 'fastify';
import type { OperationTag } from '#http/docs/docs.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { EventTypes } from './events/event.ts';
import type { ObjectKind } from './events/outbox/object-kind.ts';
import type { ErasedFields } from './events/outbox/personal-data.ts';
import type { SweptOperation } from './idempotency/sweeper.ts';
import type { OwnedRows } from './mirrors/erased-store.ts';
import type { CountedRows } from './mirrors/list.ts';
import type { CountedKind, Total } from './overview/counted-kind.ts';
import type { SearchSource } from './search/search-source.ts';
import type { ComparedList } from './sync/compared-list.ts';
import type { EventRule } from './sync/event-rule.ts';
import type { ImportList } from './sync/import-stage.ts';
import type { MirrorsBySubject } from './sync/mirrors-by-subject.ts';
import type { StaleMirror } from './sync/recovery.ts';
import type { SearchedRows } from './webhooks/erasure.ts';

/**
 * Everything that a resource announces to the rest of the service. `Context` is what it needs of the composition: the
 * parts of the platform, the mirrors and the services that it names.
 */
export interface Feature<Context = never> {
  /** The groups of its operations, for the reference. */
  readonly tags?: readonly OperationTag[];
  readonly routes?: (app: FastifyInstance, context: Context) => void;
  /** All operations with an idempotency key. The sweeper settles those that were abandoned. */
  readonly operations?: (context: Context) => readonly SweptOperation[];
  /** The types of its events. */
  readonly events?: readonly EventTypes[];
  /** The objects whose changes are events. */
  readonly kinds?: (context: Context) => readonly ObjectKind[];
  /** The mirrors that apply events of the processor, in the order in which every transaction locks their tables. */
  readonly subjects?: (context: Context) => Partial<MirrorsBySubject>;
  /** The personal data in its rows, which the deletion of their customer erases. */
  readonly owned?: readonly OwnedRows[];
  /** What the API and the events then show in place of it, by the types of its objects. */
  readonly erased?: Readonly<Record<string, ErasedFields>>;
  /** Personal data that is searched for and erased after the deletion. */
  readonly searched?: readonly SearchedRows[];
  readonly rules?: (context: Context) => readonly EventRule[];
  /** How a search finds its objects, by their type. */
  readonly search?: Readonly<Record<string, (context: Context) => readonly SearchSource[]>>;
  /** What a resync compares, by the names that metrics, logs and messages have for the resources. */
  readonly lists?: Readonly<Record<string, ComparedList<Context>>>;
  /** What an import adopts. */
  readonly imports?: Readonly<Record<string, ImportList<Context>>>;
  /** The calls that show objects that Till did not create with a Till id, so that its mirrors create their rows. */
  readonly adopting?: (processor: Processor) => Partial<Processor>;
  /** Mirrors whose rows can become stale. */
  readonly staleMirrors?: (context: Context) => readonly StaleMirror[];
  /** What its objects add to the overview. */
  readonly counted?: (context: Context) => readonly CountedKind[];
  /** The numbers that these show in the totals and days of the overview, by their names in the API. */
  readonly totals?: Readonly<Record<string, Total>>;
  /** The lists of the API whose totals a counter keeps. */
  readonly countedLists?: readonly CountedRows[];
}
