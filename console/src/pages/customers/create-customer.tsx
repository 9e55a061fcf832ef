import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { pageOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';
import { isEmail, isExternalId, newCustomer, noInputs } from './customer-change.ts';
import { CustomerFields } from './edit-customer.tsx';

export function CreateCustomer({ onClose }: Closing) {
  const { route } = useLocation();
  const [inputs, setInputs] = useState(noInputs);
  const { email, externalId } = inputs;
  return (
    <ActionDialog
      title="Create customer"
      confirm="Create customer"
      isReady={isEmail(email) && isExternalId(externalId)}
      done="Customer created"
      onClose={onClose}
      act={async (idempotencyKey) => {
        const { id } = await till().customers.create(newCustomer(inputs), { idempotencyKey });
        route(pageOf('customer', id));
      }}
    >
      {/* An empty input is not marked as wrong before it was used. */}
      <CustomerFields inputs={inputs} hasEmail={email === '' || isEmail(email)} onChange={setInputs} />
      <p>The customer is created here and at the processor. No e-mail is sent, and nothing is charged.</p>
    </ActionDialog>
  );
}
