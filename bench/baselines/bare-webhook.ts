/** A minimal webhook route: Fastify, and the official package's signature check. */
import { Stripe } from 'stripe';
import { bareApp, onEvent, serve, setting } from './serve.ts';

const secret = setting('PROCESSOR_WEBHOOK_SECRET');

await serve(onEvent(bareApp(), (body, signature) => Stripe.webhooks.constructEvent(body, signature, secret)));
