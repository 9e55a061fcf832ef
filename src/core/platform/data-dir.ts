/** The error if DATA_DIR cannot be created, read or written. */
export function unusableDataDir(dataDir: string, cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return `The data directory ${dataDir} cannot be used; start as the user it belongs to, or set DATA_DIR (${reason}).`;
}
