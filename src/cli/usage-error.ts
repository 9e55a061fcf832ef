/** An invalid command line. The message says what to do; the usage of the command is printed with it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
