/** The command line is wrong. The message says what to do, and the usage of the command is printed with it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
