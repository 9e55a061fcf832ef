import pg from 'pg';

/** Error classes after which a later retry can succeed: connection, rollback, resources, operator, I/O. */
const unavailableClasses = ['08', '40', '53', '57', '58'];
/** A standby's response to a write. After a failover the address soon points elsewhere, or the standby is promoted. */
export const readOnlyCode = '25006';
export const diskFullCode = '53100';
/**
 * PostgreSQL ended the session because its transaction was idle, or open, for too long: this process was frozen. The
 * transaction was rolled back.
 */
export const sessionEndedCodes = ['25P03', '25P04'];
const unavailableCodes = [readOnlyCode, ...sessionEndedCodes];
/**
 * PgBouncer reports each of its own failures as a violation of the protocol. From PostgreSQL, it means a defect of the
 * caller, such as a statement with a value too many. Only PostgreSQL names the function that has reported an error.
 */
const protocolViolationCode = '08P01';
const unavailableMessages = [
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error',
];

/** The server was reached, but is not what the address requires. Another server is suitable, or will be soon. */
export class UnsuitableServerError extends Error {}

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnsuitableServerError) return true;
  const code = codeOf(error);
  if (code === protocolViolationCode) return error instanceof pg.DatabaseError && error.routine === undefined;
  if (code !== undefined)
    return unavailableCodes.includes(code) || unavailableClasses.includes(code.slice(0, 2));
  // If none of the addresses of a name can be reached, there is one error that contains all of theirs.
  if ('syscall' in error || error instanceof AggregateError) return true;
  return unavailableMessages.some((message) => error.message.startsWith(message));
}

/** PostgreSQL: an unknown user or no entry in `pg_hba.conf`, a wrong password, and an unknown database. */
const refusalCodes = ['28000', '28P01', '3D000'];
/** OpenSSL's and Node's names of what is wrong with a certificate. */
const certificateCode = /^(?:ERR_TLS_|CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_)/;

/** The server was reached, and does not accept this address: its user, password, database or encryption. */
export function isConnectionRefused(error: Error): boolean {
  const code = codeOf(error);
  if (code !== undefined) return refusalCodes.includes(code);
  const nodeCode = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return certificateCode.test(nodeCode) || error.message.startsWith('The server does not support SSL');
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
