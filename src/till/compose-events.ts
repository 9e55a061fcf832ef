import { EventFeed } from '../events/feed/event-feed.ts';
import { EventStore } from '../events/feed/event-store.ts';
import { objectKinds } from '../events/outbox/object-kinds.ts';
import { Outbox } from '../events/outbox/outbox.ts';
import { OutboxStore } from '../events/outbox/outbox-store.ts';
import { SubscriptionLinks } from '../events/outbox/subscription-links.ts';
import { EventUpkeep } from '../events/outbox/upkeep.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/postgres.ts';
import type { EntitlementService } from '../subscriptions/entitlements/entitlement-service.ts';
import type { Stores } from './compose-stores.ts';

interface EventParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly stores: Stores;
  readonly entitlements: EntitlementService;
}

/** Wires up the events for applications: writing them, reading them, and their upkeep. */
export function composeEvents({ database, clock, stores, entitlements }: EventParts) {
  const store = new OutboxStore();
  const outbox = new Outbox({
    store,
    objects: objectKinds({ ...stores, judge: (terms) => entitlements.judge(terms) }),
    links: new SubscriptionLinks(stores),
  });
  const eventFeed = new EventFeed({ database, store: new EventStore() });
  database.setBeforeCommit((tx, rows) => outbox.write(tx, rows));
  const eventUpkeep = new EventUpkeep({ database, store, clock, subscriptions: stores.subscriptions });
  return { outbox, eventUpkeep, eventFeed };
}
