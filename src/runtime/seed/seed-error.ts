/** Why demo data cannot be created: one sentence for the person at the terminal. */
export class SeedError extends Error {
  override readonly name = 'SeedError';
}
