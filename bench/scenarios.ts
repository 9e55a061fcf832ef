import type { Scenario } from './lab/scenario.ts';
import { reads } from './scenarios/reads.ts';
import { webhookEndToEnd } from './scenarios/webhook-end-to-end.ts';
import { webhookIngest } from './scenarios/webhook-ingest.ts';

/** Everything that is measured, in the order of the table. */
export const scenarios: readonly Scenario[] = [webhookIngest, webhookEndToEnd, reads];
