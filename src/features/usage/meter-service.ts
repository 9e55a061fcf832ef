import { Failure, requireFound } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { Meter } from '#core/model/meter.ts';
import { auditOperation } from '#core/platform/cause.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { type LocalOperation, localOperation } from '#engine/idempotency/local-operation.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { type IdCursorPage, pageById } from '#engine/mirrors/id-cursor.ts';
import { MeterStore, type NewMeter } from './meter-store.ts';

/** Entitlements show every active meter, and every batch of usage reads all of them. */
const metersMax = 100;

interface RenameRequest {
  readonly meterId: string;
  readonly name?: string | undefined;
}

/** The use cases of meters. */
export class MeterService {
  /** The sweeper also uses these. */
  readonly creation: LocalOperation<NewMeter, Meter>;
  readonly updating: LocalOperation<RenameRequest, Meter>;
  readonly #context: Platform;
  readonly #store = new MeterStore();
  readonly #idempotency: IdempotencyService;

  constructor(context: Platform, idempotency: IdempotencyService) {
    this.#context = context;
    this.#idempotency = idempotency;
    const read = (id: string) => this.read(id);
    this.creation = localOperation({
      name: 'meters.create',
      parentIdOf: () => null,
      // Checked before any write. Of two concurrent requests, the transaction decides.
      check: ({ key }) => this.#refuse(this.#context.database, key),
      write: (tx, id, request) => this.#insert(tx, id, request),
      read,
    });
    this.updating = localOperation({
      name: 'meters.update',
      parentIdOf: ({ meterId }) => meterId,
      check: async ({ meterId }) => void (await this.read(meterId)),
      write: (tx, _id, request) => this.#rename(tx, request),
      read,
    });
  }

  create(meter: NewMeter, key: IdempotencyKey | undefined): Promise<OperationResult<Meter>> {
    return this.#idempotency.run(this.creation, meter, key);
  }

  update(
    meterId: string,
    { name }: { readonly name?: string | undefined },
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Meter>> {
    return this.#idempotency.run(this.updating, { meterId, ...(name === undefined ? {} : { name }) }, key);
  }

  /** Archiving it again changes nothing. */
  archive(id: string): Promise<Meter> {
    const { database, clock } = this.#context;
    return database.transaction(async (tx) => {
      const meter = requireFound('meter', await this.#store.archive(tx, id, clock.now()));
      auditOperation(tx);
      return meter;
    });
  }

  async read(id: string): Promise<Meter> {
    const { database } = this.#context;
    return requireFound('meter', await this.#store.find(database, id));
  }

  list(page: { readonly cursor?: string | undefined; readonly limit: number }): Promise<IdCursorPage<Meter>> {
    const { database } = this.#context;
    return pageById('meters', page, (before, count) => this.#store.list(database, before, count));
  }

  async #insert(tx: Transaction, id: string, meter: NewMeter): Promise<Meter> {
    const { clock } = this.#context;
    await this.#store.lockCreation(tx);
    const count = await this.#store.countActive(tx);
    const inserted = count < metersMax ? await this.#store.insert(tx, id, meter, clock.now()) : undefined;
    if (inserted !== undefined) return inserted;
    // Another process may have finished the same request.
    const existing = await this.#store.find(tx, id);
    if (existing !== undefined) return existing;
    await this.#refuse(tx, meter.key);
    throw new Error('a meter was not inserted although its key is free');
  }

  async #refuse(db: Queryable, key: string): Promise<void> {
    if ((await this.#store.findByKey(db, key)) !== undefined)
      throw new Failure(
        'meter_key_taken',
        'Another meter has this key. Use that meter, or choose another key.',
      );
    if ((await this.#store.countActive(db)) < metersMax) return;
    throw new Failure(
      'too_many_meters',
      `There are ${metersMax} active meters, which is the maximum. Archive one that you do not use any more.`,
    );
  }

  async #rename(tx: Transaction, { meterId, name }: RenameRequest): Promise<Meter> {
    const { clock } = this.#context;
    if (name === undefined) return requireFound('meter', await this.#store.find(tx, meterId));
    return requireFound('meter', await this.#store.rename(tx, meterId, name, clock.now()));
  }
}
