import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { DateTime, nullable } from '#http/docs/api-schema.ts';
import { deliveryModes, faultKinds } from './sandbox-modes.ts';

/** The responses of the sandbox's controls, and how the API shows them. */

export const SandboxSchema = Type.Object({
  /** Where people open the pages of the sandbox. */
  url: Type.String(),
  account: Type.String(),
  now: DateTime,
  deliveryMode: Type.Enum([...deliveryModes]),
});

export const ClockSchema = Type.Object({
  now: DateTime,
  /** How far the clock is ahead of real time. */
  offsetSeconds: Type.Integer(),
});

export interface SandboxClock {
  /** Unix seconds. */
  readonly now: number;
  readonly offsetSeconds: number;
}

export function clockResponse({ now, offsetSeconds }: SandboxClock): Static<typeof ClockSchema> {
  return { now: toTime(now), offsetSeconds };
}

export function toTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1_000).toISOString();
}

export const DeliverySchema = Type.Object({
  mode: Type.Enum([...deliveryModes]),
  endpoints: Type.Array(
    Type.Object({
      endpoint: Type.String(),
      url: Type.String(),
      /** Webhooks that are not delivered yet. */
      waiting: Type.Integer(),
    }),
  ),
});

export const FaultsSchema = Type.Object({
  faults: Type.Array(
    Type.Object({
      id: Type.String(),
      operation: Type.String(),
      kind: Type.Enum([...faultKinds]),
      /** How many more requests it affects. */
      times: Type.Integer(),
      status: nullable(Type.Integer()),
      code: nullable(Type.String()),
      latencyMs: nullable(Type.Integer()),
    }),
  ),
});

type Fault = Static<typeof FaultsSchema>['faults'][number];

export interface SandboxFaults {
  readonly faults: readonly (Pick<Fault, 'id' | 'operation' | 'kind' | 'times'> & {
    readonly status?: number;
    readonly code?: string;
    readonly latencyMs?: number;
  })[];
}

export function faultsResponse({ faults }: SandboxFaults): Static<typeof FaultsSchema> {
  return {
    faults: faults.map(({ status = null, code = null, latencyMs = null, ...fault }) => ({
      ...fault,
      status,
      code,
      latencyMs,
    })),
  };
}

export const OperationsSchema = Type.Object({ operations: Type.Array(Type.String()) });

export const TestCardsSchema = Type.Object({
  testCards: Type.Array(
    Type.Object({
      number: Type.String(),
      /** Accepted instead of the number, wherever the API takes the id of a payment method. */
      paymentMethodId: Type.String(),
      brand: Type.String(),
      funding: Type.String(),
      description: Type.String(),
    }),
  ),
});

export interface SandboxCards {
  readonly test_cards: readonly {
    readonly number: string;
    readonly payment_method: string;
    readonly brand: string;
    readonly funding: string;
    readonly description: string;
  }[];
}

export function testCardsResponse({ test_cards: cards }: SandboxCards): Static<typeof TestCardsSchema> {
  return {
    testCards: cards.map(({ payment_method: paymentMethodId, ...card }) => ({ ...card, paymentMethodId })),
  };
}

export const ConfirmationSchema = Type.Object({
  /** The status of the payment at the processor. */
  status: Type.String(),
  /** The page on which the customer authenticates. Null unless the payment requires it. */
  authenticateUrl: nullable(Type.String()),
  /** Why the payment failed. Null unless it did. */
  error: Type.Union([
    Type.Object({
      code: nullable(Type.String()),
      declineCode: nullable(Type.String()),
      message: Type.String(),
    }),
    Type.Null(),
  ]),
});

export interface SandboxConfirmation {
  readonly status: string;
  readonly authenticate_url: string | null;
  readonly error: {
    readonly code: string | null;
    readonly decline_code: string | null;
    readonly message: string;
  } | null;
}

export function confirmationResponse(confirmed: SandboxConfirmation): Static<typeof ConfirmationSchema> {
  const { status, authenticate_url: authenticateUrl, error } = confirmed;
  return {
    status,
    authenticateUrl,
    error:
      error === null ? null : { code: error.code, declineCode: error.decline_code, message: error.message },
  };
}
