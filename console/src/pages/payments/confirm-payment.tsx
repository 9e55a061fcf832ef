import { type Payment, TillError } from '@till/client';
import { useRef, useState } from 'preact/hooks';
import { money } from '../../format/money.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { type Closing, Dialog } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { OutsideLink } from '../../parts/values.tsx';
import { can, currentKey } from '../../session.ts';
import { type Confirmation, callSandbox, type TestCards, useSandbox } from '../sandbox/sandbox-api.ts';

const unpaid = ['requires_payment_method', 'requires_confirmation'];

export function canPayHere({ status, invoiceId }: Payment): boolean {
  const isSandbox = currentKey.value?.processor.mode === 'sandbox';
  return isSandbox && can('operate') && unpaid.includes(status) && invoiceId === null;
}

/** Pays with a test card, as the customer would in the frontend. Only the sandbox allows it. */
export function ConfirmPayment({ payment, onClose }: Closing & { readonly payment: Payment }) {
  const [card, setCard] = useState('pm_card_visa');
  const [bankPage, setBankPage] = useState<string | null>(null);
  const confirmation = useRef<Confirmation | undefined>(undefined);
  const cards = useSandbox<TestCards>('/test-cards');
  const shown = money(payment.amount, payment.currency);
  if (bankPage !== null) return <Authenticate href={bankPage} onClose={() => onClose(true)} />;
  return (
    <ActionDialog
      title="Pay with a test card"
      confirm={`Pay ${shown}`}
      done={({ authenticateUrl }: Confirmation) =>
        authenticateUrl === null ? 'Paid with a test card' : 'The bank asks the customer to authenticate'
      }
      onClose={(hasActed) => {
        const href = confirmation.current?.authenticateUrl ?? null;
        if (hasActed && href !== null) setBankPage(href);
        else onClose(hasActed);
      }}
      act={async () => {
        confirmation.current = await confirm(payment.id, card);
        return confirmation.current;
      }}
    >
      <SelectField label="Test card" value={card} onInput={setCard}>
        {(cards.value?.testCards ?? []).map(({ paymentMethodId, number, description }) => (
          <option key={paymentMethodId} value={paymentMethodId}>
            {number}: {description}
          </option>
        ))}
      </SelectField>
      <p>The sandbox acts as if the customer had paid {shown} with this card. No real money moves.</p>
    </ActionDialog>
  );
}

/** A browser lets a page open a tab only at a click. */
function Authenticate({ href, onClose }: { readonly href: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Authentication required" onCancel={onClose}>
      <p class="dialog-body">
        The bank asks the customer to authenticate.{' '}
        <OutsideLink href={href}>Open the bank's page</OutsideLink>
      </p>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

async function confirm(id: string, paymentMethodId: string): Promise<Confirmation> {
  const call = {
    method: 'POST',
    path: `/payments/${id}/confirm`,
    // Without a return address, the bank's page stays open at the end. Its tab has no session here.
    body: { paymentMethodId },
  } as const;
  const confirmation = await callSandbox<Confirmation>(call);
  const { error } = confirmation;
  if (error === null) return confirmation;
  throw new TillError(
    {
      code: error.code ?? 'payment_declined',
      status: 402,
      title: 'Payment declined',
      detail: error.message ?? 'The card was declined.',
    },
    { ...call, idempotencyKey: undefined, attempts: 1, retryAfterSeconds: undefined, isReplay: false },
  );
}
