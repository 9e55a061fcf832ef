import { isMetadataChangeIgnored } from '#core/model/metadata.ts';
import type { Payment, PaymentChange, PaymentFacts } from '#core/model/payment.ts';
import { type UpdateOperation, updateSteps } from '#engine/mirrors/update-operation.ts';
import type { PaymentContext } from './payment-creation.ts';

export type PaymentUpdate = UpdateOperation<Payment, PaymentChange, PaymentFacts>;

/** The steps of changing a payment. */
export function paymentUpdate({
  database,
  store,
  mirror,
  customers,
  processor,
}: Pick<PaymentContext, 'database' | 'store' | 'mirror' | 'customers' | 'processor'>): PaymentUpdate {
  return {
    ...updateSteps<Payment, PaymentChange, PaymentFacts>({
      name: 'payments.update',
      resource: 'payment',
      ...{ database, mirror, partMirror: mirror, keyOf: mirror.keyOf },
      findRow: (db, id) => store.read(db, id),
      send: ({ processorPaymentIntentId }, change, idempotencyKey) =>
        processor.payments.update({ ...change, processorPaymentIntentId, idempotencyKey }),
      read: async ({ processorPaymentIntentId }) =>
        (await processor.payments.read(processorPaymentIntentId))?.payment ?? null,
      isIgnored: (payment, change, { metadata }) =>
        isMetadataChangeIgnored(payment.metadata ?? {}, change.metadata ?? {}, metadata ?? {}),
    }),
    prepare: async ({ id, change }) => {
      const payment = await store.read(database, id);
      await customers.refuseMetadataChange(payment, change.metadata ?? {});
      return payment;
    },
  };
}
