import type { Attempt } from './attempt.ts';
import type { KeyedWrite } from './request-mark.ts';

/** An endpoint at the processor, to which it sends its events. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly isEnabled: boolean;
  /** `*` is every type. */
  readonly events: readonly string[];
  /** The API version of the payloads. Null: the default version of the account, which can change. */
  readonly apiVersion: string | null;
  readonly createdAt: Date;
  /** The processor key under which Till created it. Null if a person created it. */
  readonly setupKey: string | null;
  /** The id of the endpoint that it replaces. */
  readonly replaces: string | null;
  /** Whether a run of Till has taken the secret to show it. */
  readonly isSecretTaken: boolean;
}

export interface NewWebhookEndpoint extends KeyedWrite {
  readonly url: string;
  readonly events: readonly string[];
  readonly replaces: string | null;
}

/** Used only by the command line. The service itself changes no endpoint. */
export interface WebhookEndpointCalls {
  /** The API version of the endpoints that `create` creates. */
  readonly apiVersion: string;
  /** All endpoints that receive the events of this account, newest first. */
  list(): Promise<readonly WebhookEndpoint[]>;
  /**
   * Only this call returns the secret. The same processor key returns the same endpoint, with its secret, for a day.
   */
  create(
    endpoint: NewWebhookEndpoint,
  ): Promise<{ readonly endpoint: WebhookEndpoint; readonly secret: string }>;
  /** Sets the events and enables the endpoint. */
  correct(change: KeyedWrite & Pick<WebhookEndpoint, 'id' | 'events'>): Promise<Attempt<WebhookEndpoint>>;
  /** True for exactly one caller, which may then show the secret. `takerId` differs for each caller. */
  takeSecret(order: { readonly id: string; readonly takerId: string }): Promise<boolean>;
  delete(id: string): Promise<Attempt<'deleted'>>;
}
