import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { LocationProvider, Route, Router } from 'preact-iso';
import { watchInputs } from './api/background.ts';
import { watchConnection } from './api/connection.ts';
import { followChanges } from './api/live.ts';
import { useResource } from './api/use-resource.ts';
import { watchExports } from './exports/exports.ts';
import { attentionPage, home } from './links.ts';
import { ApiKeysPage } from './pages/api-keys/api-keys-page.tsx';
import { AttentionPage } from './pages/attention/attention-page.tsx';
import { AuditLogPage } from './pages/audit-log/audit-log-page.tsx';
import { CheckoutPage } from './pages/checkouts/checkout-page.tsx';
import { CheckoutsPage } from './pages/checkouts/checkouts-page.tsx';
import { CustomerPage } from './pages/customers/customer-page.tsx';
import { CustomersPage } from './pages/customers/customers-page.tsx';
import { EndpointPage } from './pages/endpoints/endpoint-page.tsx';
import { EndpointsPage } from './pages/endpoints/endpoints-page.tsx';
import { EventPage } from './pages/events/event-page.tsx';
import { EventsPage } from './pages/events/events-page.tsx';
import { InvoicePage } from './pages/invoices/invoice-page.tsx';
import { InvoicesPage } from './pages/invoices/invoices-page.tsx';
import { MovesPage } from './pages/overview/moves-page.tsx';
import { OverviewPage } from './pages/overview/overview-page.tsx';
import { SubscribersPage } from './pages/overview/subscribers-page.tsx';
import { PaymentPage } from './pages/payments/payment-page.tsx';
import { PaymentsPage } from './pages/payments/payments-page.tsx';
import { PlanPage } from './pages/plans/plan-page.tsx';
import { PlansPage } from './pages/plans/plans-page.tsx';
import { RefundsPage } from './pages/refunds/refunds-page.tsx';
import { ResyncsPage } from './pages/resyncs/resyncs-page.tsx';
import { SandboxPage } from './pages/sandbox/sandbox-page.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { SubscriptionPage } from './pages/subscriptions/subscription-page.tsx';
import { SubscriptionsPage } from './pages/subscriptions/subscriptions-page.tsx';
import { WebhookEventPage } from './pages/webhooks/webhook-event-page.tsx';
import { WebhookEventsPage } from './pages/webhooks/webhook-events-page.tsx';
import { Page } from './parts/page.tsx';
import { Failed, Loading } from './parts/states.tsx';
import { can, isSignedIn, isSignedOut, resume, type Scope } from './session.ts';
import { Shell } from './shell.tsx';

/** The pages that need more than the scope `read`. */
const WebhookEvents = allowed('operate', 'Webhook events', WebhookEventsPage);
const WebhookEvent = allowed('operate', 'Webhook event', WebhookEventPage);
const Endpoints = allowed('operate', 'Event endpoints', EndpointsPage);
const Endpoint = allowed('operate', 'Event endpoint', EndpointPage);
const Resyncs = allowed('operate', 'Resync', ResyncsPage);
const Sandbox = allowed('operate', 'Sandbox', SandboxPage);
const ApiKeys = allowed('admin', 'API keys', ApiKeysPage);
const AuditLog = allowed('admin', 'Audit log', AuditLogPage);

export function App() {
  useEffect(followChanges, []);
  useEffect(watchConnection, []);
  useEffect(watchInputs, []);
  useEffect(watchExports, []);
  if (isSignedOut.value) return <SignIn />;
  if (!isSignedIn.value) return <Resume />;
  return (
    <LocationProvider scope={home}>
      <Shell>
        <Router>
          <Route path={`${home}/customers`} component={CustomersPage} />
          <Route path={`${home}/customers/:id`} component={CustomerPage} />
          <Route path={`${home}/checkouts`} component={CheckoutsPage} />
          <Route path={`${home}/checkouts/:id`} component={CheckoutPage} />
          <Route path={`${home}/payments`} component={PaymentsPage} />
          <Route path={`${home}/payments/:id`} component={PaymentPage} />
          <Route path={`${home}/subscriptions`} component={SubscriptionsPage} />
          <Route path={`${home}/subscriptions/:id`} component={SubscriptionPage} />
          <Route path={`${home}/invoices`} component={InvoicesPage} />
          <Route path={`${home}/invoices/:id`} component={InvoicePage} />
          <Route path={`${home}/plans`} component={PlansPage} />
          <Route path={`${home}/plans/:id`} component={PlanPage} />
          <Route path={`${home}/events`} component={EventsPage} />
          <Route path={`${home}/events/:id`} component={EventPage} />
          <Route path={`${home}/webhook-events`} component={WebhookEvents} />
          <Route path={`${home}/webhook-events/:id`} component={WebhookEvent} />
          <Route path={`${home}/event-endpoints`} component={Endpoints} />
          <Route path={`${home}/event-endpoints/:id`} component={Endpoint} />
          <Route path={`${home}/resyncs`} component={Resyncs} />
          <Route path={attentionPage} component={AttentionPage} />
          <Route path={home} component={OverviewPage} />
          <Route path={`${home}/moves`} component={MovesPage} />
          <Route path={`${home}/subscribers`} component={SubscribersPage} />
          <Route path={`${home}/refunds`} component={RefundsPage} />
          <Route path={`${home}/sandbox`} component={Sandbox} />
          <Route path={`${home}/api-keys`} component={ApiKeys} />
          <Route path={`${home}/audit-log`} component={AuditLog} />
          <Route default component={NotFound} />
        </Router>
      </Shell>
    </LocationProvider>
  );
}

/** After a load of the tab, it is not known whether a user is signed in. */
function Resume() {
  const { failure, reload } = useResource(resume, []);
  return (
    <main class="sign-in">
      {failure === undefined ? <Loading /> : <Failed failure={failure} retry={reload} />}
    </main>
  );
}

/** A page that needs a scope. Without it the navigation hides the page, but its address can still be opened. */
function allowed(scope: Scope, title: string, Content: ComponentType): ComponentType {
  return function Allowed() {
    if (can(scope)) return <Content />;
    return (
      <Page title={title}>
        <div class="state" role="alert">
          <strong>Not allowed</strong>
          <p>
            The API key needs the scope <code>{scope}</code>.
          </p>
        </div>
      </Page>
    );
  };
}

function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        There is no page at this address. Go to the <a href={home}>overview</a>.
      </p>
    </Page>
  );
}
