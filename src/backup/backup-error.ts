/** Why a backup cannot be created or restored: one sentence for the person at the terminal. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
