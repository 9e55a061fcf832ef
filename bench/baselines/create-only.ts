/** A route that creates a payment intent through the official client, with no database and nothing else. */
import { randomUUID } from 'node:crypto';
import { Stripe } from 'stripe';
import { bareApp, serve, setting } from './serve.ts';

const { hostname, port } = new URL(setting('PROCESSOR_API_BASE'));
const stripe = new Stripe(setting('PROCESSOR_SECRET_KEY'), {
  host: hostname,
  port,
  protocol: 'http',
  telemetry: false,
});

interface Order {
  readonly customerId: string;
  readonly amount: number;
  readonly currency: string;
}

const app = bareApp();
app.post<{ Body: Order }>('/api/v1/payments', async ({ body }, reply) => {
  const id = randomUUID();
  const intent = await stripe.paymentIntents.create(
    {
      // The processor's id: there is no database to translate a Till id.
      customer: body.customerId,
      amount: body.amount,
      currency: body.currency,
      automatic_payment_methods: { enabled: true },
      metadata: { till_id: id },
    },
    { idempotencyKey: id },
  );
  const payment = { id, processorPaymentIntentId: intent.id, status: intent.status, ...body };
  return reply.code(201).send({ payment, clientSecret: intent.client_secret });
});
await serve(app);
