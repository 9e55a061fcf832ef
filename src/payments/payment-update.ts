import { type UpdateOperation, updateSteps } from '../mirrors/update-operation.ts';
import { isMetadataChangeIgnored } from '../model/metadata.ts';
import { foundPayment, type Payment, type PaymentChange, type PaymentFacts } from '../model/payment.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { PaymentParts } from './payment-creation.ts';

export type PaymentUpdate = UpdateOperation<Payment, PaymentChange, PaymentFacts>;

/** The steps of changing a payment. */
export function paymentUpdate({
  database,
  store,
  mirror,
  customers,
  processor,
}: Pick<PaymentParts, 'database' | 'store' | 'mirror' | 'customers' | 'processor'>): PaymentUpdate {
  const findRow = async (db: Queryable, id: string) => foundPayment((await store.find(db, [id]))[0]);
  return {
    ...updateSteps<Payment, PaymentChange, PaymentFacts>({
      name: 'payments.update',
      resource: 'payment',
      ...{ database, mirror, partMirror: mirror, findRow, keyOf: mirror.keyOf },
      send: ({ processorPaymentIntentId }, change, idempotencyKey) =>
        processor.payments.update({ ...change, processorPaymentIntentId, idempotencyKey }),
      read: async ({ processorPaymentIntentId }) =>
        (await processor.payments.read(processorPaymentIntentId))?.payment ?? null,
      isIgnored: (payment, change, { metadata }) =>
        isMetadataChangeIgnored(payment.metadata ?? {}, change.metadata ?? {}, metadata ?? {}),
    }),
    prepare: async ({ id, change }) => {
      const payment = await findRow(database, id);
      await customers.refuseMetadataChange(payment, change.metadata ?? {});
      return payment;
    },
  };
}
