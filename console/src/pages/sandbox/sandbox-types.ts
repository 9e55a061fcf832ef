import type { Static } from 'typebox';
import type {
  ClockSchema,
  ConfirmationSchema,
  DeliverySchema,
  FaultsSchema,
  OperationsSchema,
  TestCardsSchema,
} from '../../../../src/sandbox-control/sandbox-answers.ts';

export type Clock = Static<typeof ClockSchema>;
export type Delivery = Static<typeof DeliverySchema>;
export type Faults = Static<typeof FaultsSchema>;
export type Operations = Static<typeof OperationsSchema>;
export type TestCards = Static<typeof TestCardsSchema>;
export type Confirmation = Static<typeof ConfirmationSchema>;
