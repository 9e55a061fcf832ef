/** The server's socket folder, relative to its data folder: relative paths never exceed the socket path limit. */
const socketDirFromData = '../../run';
export const socketPort = '5432';

/** Defaults for one small service on a shared machine. Callers can override them. */
const defaults = {
  cluster_name: 'till',
  // Two pools of the default size, the sessions of operators, and some spare connections.
  max_connections: '60',
  shared_buffers: '128MB',
  // Large enough for a burst of webhooks without a checkpoint, small enough for recovery within seconds.
  max_wal_size: '512MB',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  fsync: 'on',
  synchronous_commit: 'on',
  // JIT pays off on queries that take seconds; these take milliseconds.
  jit: 'off',
  timezone: 'UTC',
};

/** Settings that this module depends on: how to connect, and what to read in the server's output. */
const fixed = {
  listen_addresses: '',
  unix_socket_directories: socketDirFromData,
  unix_socket_permissions: '0700',
  port: socketPort,
  password_encryption: 'scram-sha-256',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  lc_messages: 'C',
  // The client gets the error of each failed statement. The log does not: messages and details quote personal data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

export function serverArguments(dataPath: string, chosen: Readonly<Record<string, string>>): string[] {
  const settings = Object.entries({ ...defaults, ...chosen, ...fixed });
  return ['-D', dataPath, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
