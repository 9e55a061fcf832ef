import { createHash } from 'node:crypto';
import type { Clock } from '#core/platform/clock.ts';
import { newId } from '#core/platform/id.ts';
import type { Processor } from '../port/processor.ts';
import type { NewWebhookEndpoint, WebhookEndpoint } from '../port/webhook-endpoint-calls.ts';
import { chooseEndpoint, isSameUrl, stateOf } from './endpoint-state.ts';

/**
 * Creations for one address on one day have processor keys that are numbered in order. More than a few creations mean
 * that something keeps deleting the endpoint.
 */
const creationsPerDayMax = 20;
/** The processor repeats its response under a processor key for a day. An hour less allows for clock skew. */
const repeatsForMs = 23 * 60 * 60 * 1_000;

type EndpointProcessor = Pick<
  Processor,
  'webhookEndpoints' | 'readAccount' | 'understands' | 'livemode' | 'eventTypes'
>;

interface SetupRequest {
  readonly url: string;
  /** Create a new endpoint in place of the current one: for another API version, or after the secret was lost. */
  readonly isReplace: boolean;
  /** Change nothing. */
  readonly isDryRun: boolean;
}

export interface Setup {
  /** Undefined only in a dry run that would create it. */
  readonly endpoint: WebhookEndpoint | undefined;
  readonly action: 'created' | 'replaced' | 'corrected' | 'unchanged';
  /** Returned only once: to the run that created the endpoint, or to the next run if that one was interrupted. */
  readonly secret: string | undefined;
  /** Endpoints to delete after the secret is shown. */
  readonly superseded: readonly WebhookEndpoint[];
  /** Other endpoints with this address, created by a person. */
  readonly foreign: readonly WebhookEndpoint[];
}

/**
 * Creates the endpoint for the processor's events, or corrects the current one. Any number of runs, concurrent or after
 * an interruption, leave one endpoint.
 */
export async function setUpEndpoint(
  { processor, clock }: { readonly processor: EndpointProcessor; readonly clock: Clock },
  { url, isReplace, isDryRun }: SetupRequest,
): Promise<Setup> {
  const run = new SetupRun(processor, clock, url);
  const { current, ...others } = await run.choose();
  const isReplacing = isReplace && current !== undefined && !isHalfReplaced(current, others.superseded);
  if (current === undefined || isReplacing) {
    const replaces = current?.id ?? null;
    const superseded = isReplacing ? [...others.superseded, current] : others.superseded;
    const action = isReplacing ? 'replaced' : 'created';
    if (isDryRun) return { ...others, superseded, endpoint: undefined, action, secret: undefined };
    return { ...(await run.create(replaces)), action };
  }
  const { isEnabled, missingEvents, otherEvents } = run.stateOf(current);
  const isComplete = isEnabled && missingEvents.length === 0 && otherEvents.length === 0;
  const action = isComplete ? 'unchanged' : 'corrected';
  if (isDryRun) return { ...others, endpoint: current, action, secret: undefined };
  const endpoint = isComplete ? current : await run.correct(current);
  return { ...others, endpoint, action, secret: await run.recoverSecret(current) };
}

/** An earlier run created the successor, and was interrupted before it deleted the old endpoint. */
function isHalfReplaced({ replaces }: WebhookEndpoint, superseded: readonly WebhookEndpoint[]): boolean {
  return superseded.some(({ id }) => id === replaces);
}

class SetupRun {
  readonly #processor: EndpointProcessor;
  readonly #clock: Clock;
  readonly #url: string;
  #account: string | undefined;

  constructor(processor: EndpointProcessor, clock: Clock, url: string) {
    this.#processor = processor;
    this.#clock = clock;
    this.#url = url;
  }

  async choose() {
    const all = await this.#processor.webhookEndpoints.list();
    return chooseEndpoint(all.filter(({ url }) => isSameUrl(url, this.#url)));
  }

  stateOf(endpoint: WebhookEndpoint) {
    return stateOf(endpoint, this.#processor);
  }

  async create(replaces: string | null): Promise<Omit<Setup, 'action'>> {
    const { webhookEndpoints } = this.#processor;
    for (let creation = 1; creation <= creationsPerDayMax; creation += 1) {
      const created = await webhookEndpoints.create(await this.#newEndpoint(replaces, creation));
      const { current, superseded, foreign } = await this.choose();
      // The processor repeated its response to an earlier creation, whose endpoint was deleted since.
      const known = [...superseded, ...(current === undefined ? [] : [current])];
      if (!known.some(({ id }) => id === created.endpoint.id)) continue;
      // A run of another release uses another processor key, and may have been faster. Then its endpoint stays, and
      // this one is deleted.
      const isKept = current?.id === created.endpoint.id;
      const secret = isKept ? await this.#takeSecret(created) : undefined;
      return { endpoint: current, secret, superseded, foreign };
    }
    throw new Error(
      `The endpoint was created and deleted ${creationsPerDayMax} times today. Find out what deletes it, and repeat this command tomorrow.`,
    );
  }

  async correct({ id }: WebhookEndpoint): Promise<WebhookEndpoint> {
    const attempt = await this.#processor.webhookEndpoints.correct({
      id,
      events: [...this.#processor.eventTypes],
      idempotencyKey: `till-correct-${newId(this.#clock.now())}`,
    });
    if (attempt.outcome === 'done') return attempt.value;
    throw new Error(`The endpoint ${id} was deleted meanwhile. Repeat this command.`);
  }

  /** An earlier run created the endpoint, and was interrupted before it showed the secret. */
  async recoverSecret(endpoint: WebhookEndpoint): Promise<string | undefined> {
    const { setupKey, isSecretTaken, createdAt, replaces } = endpoint;
    const ageMs = this.#clock.now().getTime() - createdAt.getTime();
    if (setupKey === null || isSecretTaken || ageMs > repeatsForMs) return undefined;
    for (let creation = 1; creation <= creationsPerDayMax; creation += 1) {
      const request = await this.#newEndpoint(replaces, creation);
      if (request.idempotencyKey !== setupKey) continue;
      return this.#takeSecret(await this.#processor.webhookEndpoints.create(request));
    }
    return undefined;
  }

  async #takeSecret(created: { endpoint: WebhookEndpoint; secret: string }): Promise<string | undefined> {
    const { id } = created.endpoint;
    const takerId = newId(this.#clock.now());
    const isOurs = await this.#processor.webhookEndpoints.takeSecret({ id, takerId });
    return isOurs ? created.secret : undefined;
  }

  /** Concurrent runs for the same endpoint have the same processor key, so that only one endpoint is created. */
  async #newEndpoint(replaces: string | null, creation: number): Promise<NewWebhookEndpoint> {
    const { webhookEndpoints, livemode } = this.#processor;
    const events = [...this.#processor.eventTypes];
    this.#account ??= `${await this.#processor.readAccount()} ${livemode}`;
    const parts = [this.#account, this.#url, webhookEndpoints.apiVersion, events, replaces, creation];
    const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
    return { idempotencyKey: `till-endpoint-${digest}`, url: this.#url, events, replaces };
  }
}
