/** Why a backup cannot be made or restored: one sentence for the person at the terminal. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
