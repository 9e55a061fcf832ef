import type { Scenario } from './lab/scenario.ts';
import { anonymousLoad } from './scenarios/anonymous-load.ts';
import { consoleViews } from './scenarios/console-views.ts';
import { creates } from './scenarios/creates.ts';
import { events } from './scenarios/events.ts';
import { filtersGrowth } from './scenarios/filters-growth.ts';
import { hostileConnections } from './scenarios/hostile-connections.ts';
import { ingestGrowth } from './scenarios/ingest-growth.ts';
import { listFilters } from './scenarios/list-filters.ts';
import { lists } from './scenarios/lists.ts';
import { memory } from './scenarios/memory.ts';
import { outboundDelivery } from './scenarios/outbound-delivery.ts';
import { processes } from './scenarios/processes.ts';
import { reads } from './scenarios/reads.ts';
import { sameKeyStorm } from './scenarios/same-key-storm.ts';
import { scaleOut } from './scenarios/scale-out.ts';
import { space } from './scenarios/space.ts';
import { starts } from './scenarios/starts.ts';
import { usage } from './scenarios/usage.ts';
import { usageGrowth } from './scenarios/usage-growth.ts';
import { usageReads } from './scenarios/usage-reads.ts';
import { webhookEndToEnd } from './scenarios/webhook-end-to-end.ts';
import { webhookIngest } from './scenarios/webhook-ingest.ts';
import { webhookLag } from './scenarios/webhook-lag.ts';

/** All scenarios, in the order of the table. */
export const scenarios: readonly Scenario[] = [
  webhookIngest,
  webhookEndToEnd,
  reads,
  anonymousLoad,
  hostileConnections,
  webhookLag,
  outboundDelivery,
  creates,
  usage,
  usageReads,
  usageGrowth,
  sameKeyStorm,
  events,
  lists,
  listFilters,
  filtersGrowth,
  consoleViews,
  ingestGrowth,
  starts,
  memory,
  space,
  scaleOut,
  processes,
];
