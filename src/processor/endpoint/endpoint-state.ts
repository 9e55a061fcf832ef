import type { Processor } from '../port/processor.ts';
import type { WebhookEndpoint } from '../port/webhook-endpoint-calls.ts';

/** The path at which Till receives the processor's events. */
export const webhookPath = '/webhooks/processor';

/** How an endpoint differs from what Till needs. */
export interface EndpointState {
  readonly isEnabled: boolean;
  readonly missingEvents: readonly string[];
  /** Event types that Till stores and does not apply. `*` is one of them. */
  readonly otherEvents: readonly string[];
  /**
   * `newest`: the version that Till is written for. `older`: Till knows its shape. `unknown`: Till may not know its
   * shape. `unpinned`: the default version of the account, which can change at any time.
   */
  readonly version: 'newest' | 'older' | 'unknown' | 'unpinned';
}

/** What Till needs of an endpoint. */
type Needed = Pick<Processor, 'eventTypes' | 'understands'> & {
  readonly webhookEndpoints: Pick<Processor['webhookEndpoints'], 'apiVersion'>;
};

export function stateOf(endpoint: WebhookEndpoint, processor: Needed): EndpointState {
  const { apiVersion, events, isEnabled } = endpoint;
  const { eventTypes } = processor;
  const hasAll = events.includes('*');
  return {
    isEnabled,
    missingEvents: hasAll ? [] : [...eventTypes].filter((type) => !events.includes(type)),
    otherEvents: events.filter((type) => !eventTypes.has(type)),
    version: versionOf(apiVersion, processor),
  };
}

function versionOf(
  apiVersion: string | null,
  { webhookEndpoints, understands }: Needed,
): EndpointState['version'] {
  if (apiVersion === null) return 'unpinned';
  if (apiVersion === webhookEndpoints.apiVersion) return 'newest';
  return understands(apiVersion) ? 'older' : 'unknown';
}

/** Whether two URLs are the same address. */
export function isSameUrl(a: string, b: string): boolean {
  return a === b || (URL.parse(a)?.href ?? a) === (URL.parse(b)?.href ?? b);
}

interface EndpointsOfUrl {
  /** The endpoint to keep. */
  readonly current: WebhookEndpoint | undefined;
  /** Endpoints that Till created, or that Till created a replacement for. */
  readonly superseded: readonly WebhookEndpoint[];
  /** Endpoints that a person created. */
  readonly foreign: readonly WebhookEndpoint[];
}

/**
 * Chooses which endpoint of an address to keep: the successor of a replaced one, else one that sends events, else the
 * oldest. The choice depends only on the list, so concurrent runs make the same choice.
 */
export function chooseEndpoint(endpoints: readonly WebhookEndpoint[]): EndpointsOfUrl {
  const replaced = new Set(endpoints.map(({ replaces }) => replaces));
  const [current] = endpoints.toSorted(
    (a, b) =>
      Number(replaced.has(a.id)) - Number(replaced.has(b.id)) ||
      Number(b.isEnabled) - Number(a.isEnabled) ||
      a.createdAt.getTime() - b.createdAt.getTime() ||
      (a.id < b.id ? -1 : 1),
  );
  const others = endpoints.filter((endpoint) => endpoint !== current);
  const isOwn = (endpoint: WebhookEndpoint) => endpoint.setupKey !== null || replaced.has(endpoint.id);
  return {
    current,
    superseded: others.filter(isOwn),
    foreign: others.filter((endpoint) => !isOwn(endpoint)),
  };
}
