/** Who acts. Both are null for a refused sign-in, and for the `till` command. */
interface Actor {
  /** The name of the API key, or `console` for a person. */
  readonly keyName: string | null;
  /** The e-mail address. */
  readonly person: string | null;
}

/** Where a request comes from. */
export interface Sender {
  readonly address: string;
  readonly requestId: string;
}

/** A request with an API key. */
export interface KeyUse extends Sender {
  /** The status of the response. Undefined before it is sent. */
  readonly outcome: () => number | undefined;
}

/** The address of what the `till` command does. */
export const commandLine = 'cli';

/** What a new entry of the audit log says. It contains no data of customers, only ids. */
export interface NewAuditEntry extends Pick<Sender, 'address'> {
  /** Null for the `till` command. */
  readonly requestId: string | null;
  readonly actor: Actor;
  /** The operation as in the OpenAPI document, or one of `otherActions`. */
  readonly action: string;
  readonly objectType: string | null;
  readonly objectId: string | null;
  /** The status code of the response. */
  readonly outcome: number;
}

export interface AuditEntry extends NewAuditEntry {
  readonly id: string;
  readonly createdAt: Date;
}

/** What happens outside of the operations of the API. */
export const otherActions = [
  'session.created',
  'session.ended',
  'session.refused',
  'key.first_used',
] as const;

/** How long entries are kept: a year, and the month in which it is reviewed. The table refuses to delete newer ones. */
export const auditRetentionDays = 400;
