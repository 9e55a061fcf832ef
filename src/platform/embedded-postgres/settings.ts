/** Where the server looks for its socket, seen from its data folder: relative, so that no path is too long for it. */
export const socketDirFromData = '../../run';
export const socketPort = '5432';

/** What suits one small service on a machine that it shares. A caller may choose otherwise. */
const defaults = {
  cluster_name: 'till',
  // Two pools of the default size, the operators' own sessions, and room.
  max_connections: '60',
  shared_buffers: '128MB',
  // Enough for bursts of webhooks without a checkpoint in the middle, and recovery stays a matter of seconds.
  max_wal_size: '512MB',
  // Nobody replicates from an embedded server, so its log need not describe more than a crash needs.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  fsync: 'on',
  synchronous_commit: 'on',
  // Compiling pays off on queries of seconds; ours take milliseconds.
  jit: 'off',
  timezone: 'UTC',
};

/** What this module itself relies on: how it is reached, and what it reads in the server's output. */
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
  // The client is told of each failed statement. The log is not: messages and details quote people's data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

export function serverArguments(dataPath: string, chosen: Readonly<Record<string, string>>): string[] {
  const settings = Object.entries({ ...defaults, ...chosen, ...fixed });
  return ['-D', dataPath, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
