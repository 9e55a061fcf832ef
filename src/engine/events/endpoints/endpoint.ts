import { Failure } from '#core/errors.ts';
import { isSameValue } from '#core/model/facts.ts';

/** Each endpoint adds a delivery to every event. An installation has a few applications. */
export const endpointsMax = 50;

/** Each valid secret adds a signature to every attempt. Four rotations a day are enough to correct mistakes. */
export const validSecretsMax = 5;

/** `request`: a request turned it off. `failing`: nothing succeeded for three days. */
export const disabledReasons = ['request', 'failing'] as const;

/** An address to which an application wants events sent. */
export interface EventEndpoint {
  readonly id: string;
  readonly url: string;
  /** Null: all types. */
  readonly types: readonly string[] | null;
  readonly description: string | null;
  readonly enabled: boolean;
  readonly disabledAt: Date | null;
  readonly disabledReason: (typeof disabledReasons)[number] | null;
  /** The first failure since the last success. */
  readonly failingSince: Date | null;
  /** The current secret, in its stored form. */
  readonly secret: string;
  /** The replaced secrets that are still valid, newest first. */
  readonly replacedSecrets: readonly ReplacedSecret[];
  /** Every event up to this position is handled, or waits at this endpoint. */
  readonly position: number;
  /** Changes when the endpoint goes back to an earlier position. */
  readonly revision: number;
  /** Changes when events are queued to be sent again. */
  readonly resendRevision: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface ReplacedSecret {
  /** In its stored form. */
  readonly secret: string;
  /** In ISO 8601: one day after the secret was replaced. */
  readonly validUntil: string;
}

export type NewEndpoint = Pick<EventEndpoint, 'url' | 'types' | 'description'>;

export interface EndpointChange extends Partial<NewEndpoint> {
  readonly enabled?: boolean;
}

/** The values of an endpoint after a change. At least one is new. */
export interface ChangedEndpoint extends NewEndpoint {
  readonly disabledReason: EventEndpoint['disabledReason'];
  /** The endpoint was turned on or has another URL, so earlier failures no longer count. */
  readonly startsAfresh: boolean;
}

/** Undefined if nothing changes. */
export function changeEndpoint(endpoint: EventEndpoint, change: EndpointChange): ChangedEndpoint | undefined {
  const { url, types, description, enabled } = { ...endpoint, ...change };
  const disabledReason = enabled ? null : (endpoint.disabledReason ?? 'request');
  const values = { url, types, description, disabledReason };
  const names = ['url', 'types', 'description', 'disabledReason'] as const;
  if (names.every((name) => isSameValue(values[name], endpoint[name]))) return undefined;
  return { ...values, startsAfresh: enabled && (!endpoint.enabled || url !== endpoint.url) };
}

export function wantsType({ types }: Pick<EventEndpoint, 'types'>, type: string): boolean {
  return types === null || types.some((wanted) => wanted === type);
}

export function foundEndpoint(endpoint: EventEndpoint | undefined): EventEndpoint {
  if (endpoint === undefined) throw endpointNotFound();
  return endpoint;
}

export function endpointNotFound(): Failure {
  return new Failure('not_found', 'No event endpoint has this id. Check the id.');
}

export function endpointDisabled(): Failure {
  return new Failure('endpoint_disabled', 'The event endpoint is turned off. Turn it on, then resend.');
}

export function tooManyEndpoints(): Failure {
  return new Failure(
    'too_many_event_endpoints',
    `There are ${endpointsMax} event endpoints, which is the maximum. Delete one that is not needed.`,
  );
}

export function tooManySecrets(nextEnd: Date): Failure {
  return new Failure(
    'too_many_event_secrets',
    `The endpoint has ${validSecretsMax} valid secrets, which is the maximum. Each one stays valid for a day after it was ` +
      `replaced. Rotate again after ${nextEnd.toISOString()}.`,
  );
}
