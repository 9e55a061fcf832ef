export type { EntitlementOptions, Who } from './entitlements.ts';
export type { ErrorCode } from './error-codes.ts';
export type { Mistake } from './error-fields.ts';
export { isTillError, TillConnectionError, TillError, type TillErrorOf, TillTimeoutError } from './errors.ts';
export type { EventFollower, FollowOptions } from './events/event-follower.ts';
export type {
  EventCause,
  EventFilters,
  EventObjectType,
  EventType,
  TillEvent,
  TillEventOf,
} from './events/event-types.ts';
export { type NodeRequest, type NodeResponse, toNodeHandler } from './events/node-handler.ts';
export { type EventRequestHandler, type TillEventsOptions, tillEvents } from './events/till-events.ts';
export { TillVerificationError, type VerifyOptions, verifyEvent } from './events/verify-event.ts';
export type { Page, TillList } from './list.ts';
export type { RequestOptions, Retry, TillOptions, WriteOptions } from './options.ts';
export { type Call, newIdempotencyKey } from './requests/connection.ts';
export type { EventPage, EventQuery } from './resources/events.ts';
export type { UsageInput } from './resources/usage.ts';
export { Till } from './till.ts';
export type * from './types.ts';
export { UsageNotSentError, UsageRejectedError } from './usage/usage-recorder.ts';
