import { DeliveryDispatcher } from '#engine/events/deliveries/delivery-dispatcher.ts';
import { DeliveryListStore } from '#engine/events/deliveries/delivery-list-store.ts';
import { DeliveryStore } from '#engine/events/deliveries/delivery-store.ts';
import { EventSender } from '#engine/events/deliveries/event-sender.ts';
import { EventService } from '#engine/events/deliveries/event-service.ts';
import { ResendStore } from '#engine/events/deliveries/resend-store.ts';
import { AddressResolver } from '#engine/events/endpoints/address-resolver.ts';
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
import type { ServiceContext } from './compose-context.ts';
import type { Stores } from './compose-mirrors.ts';

/** Wires up the events for applications: writing them, reading them, and their upkeep. */
export function composeEvents(
  { database, processorClock }: ServiceContext,
  stores: Stores,
  kinds: readonly ObjectKind[],
) {
  const store = new OutboxStore();
  const outbox = new Outbox(kinds, new SubscriptionLinks(stores));
  const eventFeed = new EventFeed({ database, store: new EventStore() });
  database.setBeforeCommit(outbox);
  const eventUpkeep = new GraceUpkeep({ database }, processorClock, store, stores.subscriptions);
  return { outbox, eventUpkeep, eventFeed };
}

/** Wires up the endpoints of applications and the delivery of events to them. */
export function composeEndpoints(context: ServiceContext, idempotency: IdempotencyService) {
  const { database, metrics, events: settings } = context;
  const addresses = new AddressResolver(settings, settings.resolve);
  const store = new EndpointStore();
  const deliveryList = new DeliveryListStore();
  const shared = {
    ...context,
    idempotency,
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
