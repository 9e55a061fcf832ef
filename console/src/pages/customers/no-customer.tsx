import { listOf } from '../../links.ts';
import { Page } from '../../parts/page.tsx';
import { Timeline } from '../../parts/timeline.tsx';

/** The API shows a deleted customer as one that does not exist. The timeline tells the two apart. */
export function NoCustomer({ id }: { readonly id: string }) {
  return (
    <Page title="No such customer">
      <div class="lead">
        <p>
          No customer has the id <code>{id}</code>, or it was deleted. Till erases the e-mail, name, phone,
          external id and metadata of a deleted customer.
        </p>
        <p>
          <a href={listOf('payment', { customerId: id, source: 'all' })}>Payments</a> and{' '}
          <a href={listOf('invoice', { customerId: id })}>invoices</a> of a deleted customer can still be
          read. Or go to the <a href={listOf('customer')}>list of customers</a>.
        </p>
      </div>
      <Timeline of={{ customerId: id }} />
    </Page>
  );
}
