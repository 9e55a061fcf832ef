import { closeDispute, type EvidenceField, evidenceFields, respond } from '../payments/dispute.ts';
import type { Operation } from '../wire/operation.ts';
import { applyMetadata, bool, clearable, metadata, object, type Parser, text } from '../wire/params.ts';
import { Resource } from './resource.ts';

/** The processor's own limit. */
const evidenceLengthMax = 20_000;

const evidenceParams = object(
  Object.fromEntries(evidenceFields.map((field) => [field, clearable(text(evidenceLengthMax))])),
);
const evidence: Parser<Partial<Record<EvidenceField, string | null>>> = (node, path) =>
  // The parser accepts only these fields, and returns only those that were given.
  evidenceParams(node, path) as Partial<Record<EvidenceField, string | null>>;

const disputes = new Resource('disputes', (store) => store.disputes);

export const disputeOperations: readonly Operation[] = [
  disputes.retrieve(),
  disputes.list(
    { charge: text(), payment_intent: text() },
    { within: ({ charge, payment_intent }) => ({ charge, payment_intent }) },
  ),
  disputes.operation('update', 'POST *', { evidence, metadata, submit: bool }, (call, params) => {
    const before = disputes.existing(call);
    return respond(call.store, before, {
      evidence: params.evidence ?? {},
      metadata: applyMetadata(before.metadata, params.metadata),
      submits: params.submit ?? params.evidence !== undefined,
    });
  }),
  disputes.operation('close', 'POST */close', {}, (call) =>
    closeDispute(call.store, disputes.existing(call)),
  ),
];
