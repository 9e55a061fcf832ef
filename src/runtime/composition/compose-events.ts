import type { ProcessorClock } from '#core/platform/clock.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Tracer } from '#core/platform/tracing.ts';
import { DeliveryDispatcher } from '#engine/events/deliveries/delivery-dispatcher.ts';
import { DeliveryListStore } from '#engine/events/deliveries/delivery-list-store.ts';
import { DeliveryStore } from '#engine/events/deliveries/delivery-store.ts';
import { EventSender } from '#engine/events/deliveries/event-sender.ts';
import { EventService } from '#engine/events/deliveries/event-service.ts';
import { ResendStore } from '#engine/events/deliveries/resend-store.ts';
import { AddressResolver, type Resolve } from '#engine/events/endpoints/address-resolver.ts';
import { SecretBox } from '#engine/events/endpoints/endpoint-secret.ts';
import { EndpointService } from '#engine/events/endpoints/endpoint-service.ts';
import { EndpointStore } from '#engine/events/endpoints/endpoint-store.ts';
import { SecretUpkeep } from '#engine/events/endpoints/secret-upkeep.ts';
import { EventFeed } from '#engine/events/feed/event-feed.ts';
import { EventStore } from '#engine/events/feed/event-store.ts';
import type { ObjectKind } from '#engine/events/outbox/object-kind.ts';
import { Outbox } from '#engine/events/outbox/outbox.ts';
import { OutboxStore } from '#engine/events/outbox/outbox-store.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { GraceUpkeep } from '#features/subscriptions/grace-upkeep.ts';
import { SubscriptionLinks } from '#features/subscriptions/subscription-links.ts';
import type { Stores } from './compose-mirrors.ts';
import type { EventConfig } from './config.ts';

interface EventParts extends Pick<Platform, 'database'> {
  readonly processorClock: ProcessorClock;
  readonly stores: Stores;
  readonly kinds: readonly ObjectKind[];
}

/** Wires up the events for applications: writing them, reading them, and their upkeep. */
export function composeEvents({ database, processorClock, stores, kinds }: EventParts) {
  const store = new OutboxStore();
  const outbox = new Outbox({
    store,
    objects: kinds,
    links: new SubscriptionLinks(stores),
    events: new EventStore(),
  });
  const eventFeed = new EventFeed({ database, store: new EventStore() });
  database.setBeforeCommit(outbox);
  const eventUpkeep = new GraceUpkeep({ database }, processorClock, store, stores.subscriptions);
  return { outbox, eventUpkeep, eventFeed };
}

/** The settings of event endpoints. */
export interface EventSettings extends EventConfig {
  /** Replaces DNS in tests. */
  readonly resolve?: Resolve | undefined;
  /** The time limit of an attempt, for tests. */
  readonly attemptTimeoutMs?: number | undefined;
  /** The delay after the first failed attempt, for tests. */
  readonly retryDelayMs?: number | undefined;
}

interface EndpointParts extends Platform {
  readonly idempotency: IdempotencyService;
  readonly tracer?: Tracer | undefined;
  readonly events: EventSettings;
}

/** Wires up the endpoints of applications and the delivery of events to them. */
export function composeEndpoints(parts: EndpointParts) {
  const { database, metrics, events: settings } = parts;
  const addresses = new AddressResolver(settings, settings.resolve);
  const store = new EndpointStore();
  const deliveryList = new DeliveryListStore();
  const shared = {
    ...parts,
    deliveries: new DeliveryStore(),
    resends: new ResendStore(),
    events: new EventStore(),
    secrets: new SecretBox(settings.secretKeys),
  };
  const sender = new EventSender(addresses, { timeoutMs: settings.attemptTimeoutMs });
  const { retryDelayMs } = settings;
  const delivery = { endpoints: store, sender, random: Math.random, retryDelayMs };
  const dispatcher = new DeliveryDispatcher({ ...shared, ...delivery }, shared.secrets);
  const onChanged = () => dispatcher.endpointsChanged();
  const checked = { addresses, addressPolicy: settings };
  const endpoints = new EndpointService({ ...shared, ...checked, store, deliveryList, onChanged });
  const events = new EventService(shared, onChanged);
  const measureDeliveries = async () =>
    metrics.eventDeliveryAge.set(await deliveryList.oldestUndeliveredSeconds(database));
  const secretUpkeep = new SecretUpkeep(shared, shared.secrets);
  return { endpoints, events, dispatcher, secretUpkeep, measureDeliveries };
}
