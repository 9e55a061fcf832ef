import { Type } from 'typebox';
import { nullable } from '../http/docs/api-schema.ts';

/** What a payment shows of its newest dispute. */
export const DisputeSchema = Type.Object(
  {
    status: Type.String({
      description:
        "The processor's status, an open set: `needs_response`, `under_review`, `won`, `lost`, for an inquiry " +
        '`warning_needs_response`, and others.',
    }),
    amount: nullable(
      Type.Integer({
        description: "The disputed amount. Null if the currency of the dispute is not the payment's.",
      }),
    ),
    reason: nullable(Type.String({ description: "The processor's reason, an open set." })),
    evidenceDueBy: nullable(Type.String({ format: 'date-time', description: 'When evidence is due.' })),
  },
  {
    description:
      "The payment's newest dispute. Null if there is none. A dispute never changes the payment's `status`.",
  },
);
