import { closeDispute, evidenceFields, respond } from '../payments/dispute.ts';
import * as p from '../wire/params.ts';
import { Resource } from './resource.ts';

/** The processor's own limit. */
const evidenceLengthMax = 20_000;

const evidence = p.object(p.each(p.clearable(p.text(evidenceLengthMax)), ...evidenceFields));

const disputes = new Resource('disputes', (store) => store.disputes);

export const disputeOperations = [
  disputes.retrieve(),
  disputes.list(p.each(p.text(), 'charge payment_intent')),
  disputes.operation(
    'update',
    'POST *',
    { evidence, metadata: p.metadata, submit: p.bool },
    (call, params) => {
      const before = disputes.existing(call);
      return respond(call.store, before, {
        evidence: p.present(params.evidence ?? {}),
        metadata: p.applyMetadata(before.metadata, params.metadata),
        submits: params.submit ?? params.evidence !== undefined,
      });
    },
  ),
  disputes.operation('close', 'POST */close', {}, (call) =>
    closeDispute(call.store, disputes.existing(call)),
  ),
];
