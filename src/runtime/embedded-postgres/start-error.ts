/** Why the embedded PostgreSQL could not start: one sentence for the person at the terminal. */
export class EmbeddedPostgresError extends Error {
  override readonly name: string = 'EmbeddedPostgresError';
}

/** Another running service owns the data directory. */
export class DataDirInUseError extends EmbeddedPostgresError {
  override readonly name = 'DataDirInUseError';

  constructor(dataDir: string) {
    super(
      `The data directory ${dataDir} is in use by another running service: stop that one, ` +
        'or give this one a DATA_DIR (or a DATABASE_URL) of its own.',
    );
  }
}
