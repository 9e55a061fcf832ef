import type { FastifyInstance } from 'fastify';
import type { Platform } from '#core/platform/platform.ts';
import { registerResendRoutes } from '#engine/events/deliveries/resend-routes.ts';
import { registerEndpointRoutes } from '#engine/events/endpoints/endpoint-routes.ts';
import { registerEventRoutes } from '#engine/events/feed/event-routes.ts';
import type { StreamLimits } from '#engine/events/feed/event-streams.ts';
import { registerWebhookEventRoutes } from '#engine/webhooks/webhook-event-routes.ts';
import { registerWebhookRoutes } from '#engine/webhooks/webhook-routes.ts';
import { eventNames, features, foundTypes, lists } from '#features/features.ts';
import { registerAttentionRoutes } from '#operators/attention/attention-routes.ts';
import { registerAuditRoutes } from '#operators/audit/audit-routes.ts';
import { registerCurrentKeyRoutes } from '#operators/keys/current-key-routes.ts';
import { registerKeyRoutes } from '#operators/keys/key-routes.ts';
import { registerOverviewRoutes } from '#operators/overview/overview-routes.ts';
import { registerResyncRoutes } from '#operators/resync/resync-routes.ts';
import type { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import { registerSandboxResetRoute } from '#operators/sandbox-control/sandbox-reset-routes.ts';
import type { SandboxResets } from '#operators/sandbox-control/sandbox-resets.ts';
import { registerSandboxRoutes } from '#operators/sandbox-control/sandbox-routes.ts';
import { registerSearchRoutes } from '#operators/search/search-routes.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { Services } from './compose-services.ts';

interface RouteParts extends Pick<Platform, 'clock' | 'logger' | 'metrics'> {
  readonly processor: Processor;
  /** Undefined if the processor is not the sandbox. */
  readonly sandbox: SandboxControl | undefined;
  /** Undefined if the processor cannot be the sandbox. */
  readonly resets?: SandboxResets | undefined;
  readonly streamLimits?: Partial<StreamLimits> | undefined;
}

/** The groups of the operations of all resources. */
export const operationTags = features.flatMap(({ tags = [] }) => tags);

export async function registerRoutes(
  app: FastifyInstance,
  services: Services,
  parts: RouteParts,
): Promise<void> {
  const { customers, payments } = services;
  for (const feature of features) feature.routes?.(app, services.context);
  registerEventRoutes(app, {
    ...parts,
    customers,
    feed: services.eventFeed,
    limits: parts.streamLimits ?? {},
    names: eventNames,
  });
  registerResendRoutes(app, services.events, eventNames);
  registerEndpointRoutes(app, services.endpoints, eventNames);
  registerWebhookEventRoutes(app, services.webhookEvents);
  registerCurrentKeyRoutes(app, parts.processor);
  registerResyncRoutes(app, services.resyncRuns, Object.keys(lists));
  registerOverviewRoutes(app, services.overview, customers);
  registerAttentionRoutes(app, services.attention);
  registerSearchRoutes(app, services.search, foundTypes);
  registerKeyRoutes(app, services.keys);
  registerAuditRoutes(app, services.audit);
  const { sandbox } = parts;
  registerSandboxResetRoute(app, parts.resets);
  if (sandbox !== undefined) registerSandboxRoutes(app, sandbox, payments);
  await registerWebhookRoutes(app, parts, services.inbox, parts.resets);
}
