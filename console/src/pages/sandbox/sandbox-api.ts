import type { Call, RequestOptions } from '@till/client';
import type { Static } from 'typebox';
import type {
  ClockSchema,
  ConfirmationSchema,
  DeliverySchema,
  FaultsSchema,
  OperationsSchema,
  TestCardsSchema,
} from '../../../../src/operators/sandbox-control/sandbox-responses.ts';
import { type Resource, useResource } from '../../api/use-resource.ts';
import { till } from '../../session.ts';

export type Clock = Static<typeof ClockSchema>;
export type Delivery = Static<typeof DeliverySchema>;
export type Faults = Static<typeof FaultsSchema>;
export type Operations = Static<typeof OperationsSchema>;
export type TestCards = Static<typeof TestCardsSchema>;
export type Confirmation = Static<typeof ConfirmationSchema>;

/** Reads what the sandbox shows of itself. */
export function useSandbox<T>(path: string): Resource<T> {
  return useResource((options) => callSandbox<T>({ method: 'GET', path }, options), [path]);
}

/** Calls a control of the sandbox. They are not part of the API, so the client has no methods for them. */
export async function callSandbox<T>(call: Call, options?: RequestOptions): Promise<T> {
  const { text } = await till().request({ ...call, path: `/api/v1/sandbox${call.path}` }, options);
  // A removal has no body.
  return JSON.parse(text === '' ? 'null' : text);
}
