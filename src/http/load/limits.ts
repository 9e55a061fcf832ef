/** The largest body: the processor's webhooks stay far below it, and a parser can read it within milliseconds. */
export const bodyBytesMax = 1_048_576;
/** Node's own default, named: room for every header that a proxy adds, and no more. */
export const headerBytesMax = 16_384;
export const headersTimeoutMs = 10_000;
export const requestTimeoutMs = 30_000;
/** Node looks for requests past their time only now and then. */
export const timeoutCheckIntervalMs = 5_000;
/** Longer than the minute after which common load balancers close an idle connection, so that they close first. */
export const keepAliveTimeoutMs = 72_000;
/** A reader who takes nothing of an answer for this long is given up: longer than any request may take to be answered. */
export const stalledTimeoutMs = 45_000;
/** Some 20 KiB each, so a few hundred MiB at worst; a proxy that pools its connections stays far below. */
export const connectionsMax = 10_000;
/**
 * Connections that wait while the event loop is busy. The kernel drops what is past it without a word, and its own limit is
 * usually this.
 */
export const backlogMax = 4_096;
/** Every id is a UUID of 36 characters; the room above it lets a wrong one be told apart from a wrong route. */
export const pathParamLengthMax = 200;
/** A body of a million unknown fields has a million mistakes; nobody reads more than these. */
export const mistakesMax = 50;
