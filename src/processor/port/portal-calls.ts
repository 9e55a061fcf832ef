import type { KeyedWrite } from './request-mark.ts';

/** A session of a customer on the processor's portal. */
export interface NewPortalSession extends KeyedWrite {
  readonly processorCustomerId: string;
  readonly processorConfigurationId: string;
  readonly returnUrl: string;
  /** The page on which the portal starts. It then sends the customer to `returnUrl`. Absent: its home page. */
  readonly flow?: PortalFlow;
  /** If absent, the portal follows the customer's browser. */
  readonly locale?: string;
}

export type PortalFlow =
  | { readonly kind: 'paymentMethod' }
  | { readonly kind: 'cancel'; readonly processorSubscriptionId: string };

/** A portal configuration that Till created. */
export interface PortalConfiguration {
  readonly processorConfigurationId: string;
  /** An operator can deactivate it. The portal then refuses to use it. */
  readonly isActive: boolean;
}

export interface PortalCalls {
  /** Returns the URL, which lets its holder act as the customer. It is passed on and never stored. */
  createSession(session: NewPortalSession): Promise<string>;
  /** The configurations that Till created for its current features, oldest first. */
  listConfigurations(): Promise<readonly PortalConfiguration[]>;
  createConfiguration(write: KeyedWrite): Promise<PortalConfiguration>;
}
