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
  disputes.update({ evidence, metadata: p.metadata, submit: p.bool }, ({ store }, before, params) =>
    respond(store, before, {
      evidence: p.present(params.evidence ?? {}),
      metadata: p.applyMetadata(before.metadata, params.metadata),
      submits: params.submit ?? params.evidence !== undefined,
    }),
  ),
  disputes.action('close', {}, ({ store }, before) => closeDispute(store, before)),
];
