/** The largest body: the processor's webhooks are far smaller, and parsing it takes milliseconds. */
export const bodyBytesMax = 1_048_576;
/**
 * The largest body of a batch of usage: a thousand events whose two ids have 255 characters of four bytes each, or are
 * written with an escape of six bytes for each character.
 */
export const usageBodyBytesMax = 4_194_304;
/** Node's own default, stated: enough for every header that a proxy adds. */
export const headerBytesMax = 16_384;
/** Timeouts of a connection, and the maximum number of connections. */
export const connectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How often Node checks for requests past their timeout. */
  timeoutCheckIntervalMs: 5_000,
  /** Longer than the minute after which common load balancers close an idle connection, so that they close first. */
  keepAliveTimeoutMs: 72_000,
  /** A client that reads nothing of a response for this long is disconnected: longer than any request may take. */
  stalledTimeoutMs: 45_000,
  /** About 20 KiB each, so a few hundred MiB at worst; a proxy that pools its connections stays far below. */
  connectionsMax: 10_000,
  /**
   * When the service stops, a request must arrive within this time. A request that is already on its way needs less.
   */
  incompleteMs: 1_000,
};
export type ConnectionLimits = typeof connectionLimits;
/**
 * Connections that wait while the event loop is busy. The kernel silently drops further ones, and its own limit is
 * usually the same.
 */
export const backlogMax = 4_096;
/** An id is a UUID of 36 characters; the extra room lets a malformed id get another response than an unknown route. */
export const pathParamLengthMax = 200;
/** A body of a million unknown fields has a million mistakes. More than these do not help a reader. */
export const mistakesMax = 50;
