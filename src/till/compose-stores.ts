import type { CustomerStore } from '../customers/customer-store.ts';
import type { ExternalIdStore } from '../customers/external-id-store.ts';
import type { InvoiceStore } from '../invoices/invoice-store.ts';
import type { PaymentStore } from '../payments/payment-store.ts';
import type { RefundStore } from '../payments/refund-store.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { GroupReservationStore } from '../subscriptions/group-reservation-store.ts';
import type { SubscriptionStore } from '../subscriptions/subscription-store.ts';

export interface Stores {
  readonly customers: CustomerStore;
  readonly externalIds: ExternalIdStore;
  readonly plans: PlanStore;
  readonly payments: PaymentStore;
  readonly refunds: RefundStore;
  readonly subscriptions: SubscriptionStore;
  readonly groups: GroupReservationStore;
  readonly invoices: InvoiceStore;
}
