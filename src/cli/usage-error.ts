/** The command was called in a way that it does not know. The usage is printed with it. */
export class UsageError extends Error {}
