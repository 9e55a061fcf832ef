import { invalidRequest } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { auditOperation } from '#core/platform/cause.ts';
import { isUuid } from '#core/platform/id.ts';
import type { Database, Queryable, Transaction } from '#core/platform/postgres.ts';
import type { IdempotencyService } from '../../idempotency/idempotency-service.ts';
import { type LocalOperation, localOperation } from '../../idempotency/local-operation.ts';
import type { OperationResult } from '../../idempotency/operation.ts';
import { type IdCursorPage, pageById, type WalkRequest } from '../../mirrors/id-cursor.ts';
import type { Delivery, DeliveryWalkRequest } from '../deliveries/delivery.ts';
import type { DeliveryListStore } from '../deliveries/delivery-list-store.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { ResendStore } from '../deliveries/resend-store.ts';
import type { EventStore } from '../feed/event-store.ts';
import { locateEvent } from '../feed/locate-event.ts';
import type { AddressResolver } from './address-resolver.ts';
import {
  changeEndpoint,
  type EndpointChange,
  type EventEndpoint,
  endpointNotFound,
  foundEndpoint,
  type NewEndpoint,
  tooManyEndpoints,
  tooManySecrets,
  validSecretsMax,
} from './endpoint.ts';
import { type AddressPolicy, urlMistake } from './endpoint-address.ts';
import { newSecret, type SecretBox } from './endpoint-secret.ts';
import type { EndpointStore } from './endpoint-store.ts';

/** The positions of all events are greater than this. */
const beforeAllEvents = 0;
/** Resends that one statement removes, when their endpoint is deleted. */
const resendsPerStatement = 1_000;

interface EndpointParts {
  readonly database: Database;
  readonly store: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly resends: ResendStore;
  readonly events: EventStore;
  readonly deliveryList: DeliveryListStore;
  readonly idempotency: IdempotencyService;
  readonly secrets: SecretBox;
  readonly addresses: AddressResolver;
  readonly addressPolicy: AddressPolicy;
  /** Called when endpoints may have changed. The response waits for it. */
  readonly onChanged: () => Promise<void>;
}

interface ChangeRequest {
  readonly endpointId: string;
  readonly change: EndpointChange;
}

interface RotationRequest {
  readonly endpointId: string;
}

interface ReplayRequest {
  readonly endpointId: string;
  /** Null: starting with the first event that is kept. */
  readonly after: string | null;
}

/** The use cases of event endpoints. */
export class EndpointService {
  /** The sweeper also uses these. */
  readonly creation: LocalOperation<NewEndpoint, EventEndpoint>;
  readonly updating: LocalOperation<ChangeRequest, EventEndpoint>;
  readonly rotation: LocalOperation<RotationRequest, EventEndpoint>;
  readonly replaying: LocalOperation<ReplayRequest, EventEndpoint>;
  readonly #parts: EndpointParts;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
    const read = (id: string) => this.read(id);
    const parentIdOf = ({ endpointId }: { readonly endpointId: string }) => endpointId;
    this.creation = localOperation<NewEndpoint, EventEndpoint>({
      name: 'event_endpoints.create',
      parentIdOf: () => null,
      check: ({ url }) => this.#checkUrl(url),
      write: (tx, id, request) => this.#insert(tx, id, request),
      read,
    });
    this.updating = localOperation<ChangeRequest, EventEndpoint>({
      name: 'event_endpoints.update',
      parentIdOf,
      check: async ({ endpointId, change: { url } }) => {
        await this.read(endpointId);
        if (url !== undefined) await this.#checkUrl(url);
      },
      write: (tx, _id, request) => this.#update(tx, request),
      read,
    });
    this.rotation = localOperation<RotationRequest, EventEndpoint>({
      name: 'event_endpoints.rotate',
      parentIdOf,
      check: async ({ endpointId }) => void (await this.read(endpointId)),
      write: (tx, _id, { endpointId }) => this.#rotateSecret(tx, endpointId),
      read,
    });
    this.replaying = localOperation<ReplayRequest, EventEndpoint>({
      name: 'event_endpoints.replay',
      parentIdOf,
      check: async ({ endpointId, after }) => {
        await this.read(endpointId);
        if (after !== null) await this.#positionOf(after);
      },
      write: (tx, _id, request) => this.#goBack(tx, request),
      read,
    });
  }

  create(values: NewEndpoint, key: IdempotencyKey | undefined): Promise<OperationResult<EventEndpoint>> {
    return this.#run(this.creation, values, key);
  }

  update(
    endpointId: string,
    change: EndpointChange,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<EventEndpoint>> {
    return this.#run(this.updating, { endpointId, change }, key);
  }

  rotateSecret(endpointId: string, key: IdempotencyKey | undefined): Promise<OperationResult<EventEndpoint>> {
    return this.#run(this.rotation, { endpointId }, key);
  }

  replay(
    endpointId: string,
    after: string | null,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<EventEndpoint>> {
    return this.#run(this.replaying, { endpointId, after }, key);
  }

  /** The secret of an endpoint, for the first response to the request that created it. */
  secretOf({ secret, id }: EventEndpoint): string {
    const opened = this.#parts.secrets.open(secret, id);
    if (opened === undefined) throw new Error(`no key of EVENT_SECRET_KEYS decrypts the secret of ${id}`);
    return opened;
  }

  async read(id: string): Promise<EventEndpoint> {
    const { store, database } = this.#parts;
    return foundEndpoint(isUuid(id) ? await store.find(database, id) : undefined);
  }

  list(walk: WalkRequest): Promise<IdCursorPage<EventEndpoint>> {
    const { store, database } = this.#parts;
    return pageById('event-endpoints', walk, (before, count) => store.list(database, before, count));
  }

  async remove(id: string): Promise<void> {
    const { store, deliveries, resends, database, onChanged } = this.#parts;
    if (!isUuid(id)) throw endpointNotFound();
    const deleteSome = (db: Queryable) => resends.deleteSome(db, id, resendsPerStatement);
    // There may be a million deliveries. If this stops, the endpoint still exists, and the request can be repeated.
    while ((await deleteSome(database)) === resendsPerStatement);
    await database.transaction(async (tx) => {
      // Locks the endpoint first, so that a delivery that is being recorded can finish.
      if (!(await store.delete(tx, id))) throw endpointNotFound();
      deliveries.deleteWaitingAfter(tx, id, beforeAllEvents);
      while ((await deleteSome(tx)) === resendsPerStatement);
      auditOperation(tx);
    });
    await onChanged();
  }

  async listDeliveries(id: string, walk: DeliveryWalkRequest): Promise<IdCursorPage<Delivery>> {
    const { deliveryList, database } = this.#parts;
    const { id: endpointId } = await this.read(id);
    const { status } = walk;
    return pageById(`${status ?? 'all'} deliveries of ${endpointId}`, walk, (before, count) =>
      deliveryList.list(database, { endpointId, status }, before, count),
    );
  }

  async #run<Request>(
    operation: LocalOperation<Request, EventEndpoint>,
    request: Request,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<EventEndpoint>> {
    const done = await this.#parts.idempotency.run(operation, request, key);
    await this.#parts.onChanged();
    return done;
  }

  async #insert(tx: Transaction, id: string, values: NewEndpoint): Promise<EventEndpoint> {
    const { store, secrets } = this.#parts;
    const inserted = await store.insert(tx, id, values, secrets.seal(newSecret(), id));
    if (inserted === undefined) throw tooManyEndpoints();
    return inserted;
  }

  async #update(tx: Transaction, { endpointId, change }: ChangeRequest): Promise<EventEndpoint> {
    const { store, deliveries } = this.#parts;
    const endpoint = foundEndpoint(await store.lock(tx, endpointId));
    const changed = changeEndpoint(endpoint, change);
    if (changed === undefined) return endpoint;
    if (changed.startsAfresh) {
      deliveries.makeDue(tx, endpointId, changed);
      store.noteResends(tx, [endpointId]);
    }
    if (change.types) deliveries.makeUnwantedDue(tx, endpointId, change.types);
    return foundEndpoint(await store.update(tx, endpointId, changed));
  }

  async #rotateSecret(tx: Transaction, id: string): Promise<EventEndpoint> {
    const { store, secrets } = this.#parts;
    const { replacedSecrets } = foundEndpoint(await store.lock(tx, id));
    const oldest = replacedSecrets.at(-1);
    if (oldest !== undefined && replacedSecrets.length + 1 >= validSecretsMax)
      throw tooManySecrets(new Date(oldest.validUntil));
    return foundEndpoint(await store.rotateSecret(tx, id, secrets.seal(newSecret(), id)));
  }

  async #goBack(tx: Transaction, { endpointId, after }: ReplayRequest): Promise<EventEndpoint> {
    const { store, deliveries } = this.#parts;
    const position = after === null ? beforeAllEvents : await this.#positionOf(after);
    const endpoint = foundEndpoint(await store.goBack(tx, endpointId, position));
    deliveries.deleteWaitingAfter(tx, endpointId, position);
    return endpoint;
  }

  async #positionOf(eventId: string): Promise<number> {
    const { database, events } = this.#parts;
    const source = { field: 'body.after', toStart: 'send null' } as const;
    return (await locateEvent(database, events, eventId, source)).position;
  }

  async #checkUrl(text: string): Promise<void> {
    const { addresses, addressPolicy } = this.#parts;
    const mistake = urlMistake(text, addressPolicy) ?? (await addresses.mistakeOf(new URL(text)));
    if (mistake !== undefined) throw invalidRequest('body.url', mistake);
  }
}
