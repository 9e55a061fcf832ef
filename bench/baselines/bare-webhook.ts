/** The least that a webhook route can do: Fastify, and the official package's check of the signature. */
import { Stripe } from 'stripe';
import { bareApp, onEvent, serve, setting } from './serve.ts';

const secret = setting('PROCESSOR_WEBHOOK_SECRET');

await serve(onEvent(bareApp(), (body, signature) => Stripe.webhooks.constructEvent(body, signature, secret)));
