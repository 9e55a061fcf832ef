import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Failure } from '../errors.ts';
import { bodyFailures, commonFailures } from '../http/api-routes.ts';
import { response } from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { bodyBytesMax } from '../http/load/limits.ts';
import type { Clock } from '../platform/clock.ts';
import { runInSpan } from '../platform/tracing.ts';
import type { Processor } from '../processor/port/processor.ts';
import type { Inbox, Receipt } from './inbox.ts';

const ReceivedSchema = component('ReceivedWebhook', {
  received: Type.Boolean(),
  duplicate: Type.Boolean({ description: 'True if Till had already received the event.' }),
});

export interface WebhookRouteParts {
  readonly processor: Processor;
  readonly inbox: Inbox;
  readonly clock: Clock;
}

/**
 * Receives events from the processor. Verifies the signature of the raw bytes before it parses them. The framework's
 * parsers, hooks and serialisers cost more than this, so a body of a declared and allowed length is received without
 * them. Failures, and requests that need another response, are left to the framework.
 */
export async function registerWebhookRoutes(app: FastifyInstance, parts: WebhookRouteParts): Promise<void> {
  const { processor, inbox, clock } = parts;
  const receive = async ({ headers }: FastifyRequest, body: Buffer): Promise<Receipt> => {
    const header = headers['stripe-signature'] ?? headers['processor-signature'];
    const signature = typeof header === 'string' ? header : undefined;
    const verified = processor.verifyWebhook(body, signature, clock.now());
    if (verified.outcome === 'bad_signature') throw new Failure('invalid_signature', verified.reason);
    if (verified.outcome === 'not_an_event') throw new Failure('malformed_request', verified.reason);
    return inbox.receive(verified.event, verified.read);
  };
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post(
      '/webhooks/processor',
      {
        onRequest: (request, reply, done) => {
          if (!(Number(request.headers['content-length']) <= bodyBytesMax)) return done();
          const fail = (error: Error) => !reply.sent && reply.send(error);
          const take = (body: Buffer) => {
            const received = runInSpan(request.span, () => receive(request, body));
            scope.openRequests.start(reply, received);
            received.then((receipt) => respond(reply, receipt), fail);
          };
          readBody(request, take, fail);
        },
        config: { failures: [...commonFailures, 'invalid_signature', ...bodyFailures] },
        schema: {
          tags: ['operations'],
          operationId: 'receiveWebhook',
          summary: 'Receive events from the processor',
          description:
            'Authenticated by the signature in the `Stripe-Signature` (or `Processor-Signature`) header, not by an ' +
            'API key.',
          security: [],
          response: {
            200: response('The event is stored durably.', ReceivedSchema, {
              received: true,
              duplicate: false,
            }),
          },
        },
      },
      async (request) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        return toResponse(await runInSpan(request.span, () => receive(request, body)));
      },
    );
  });
}

function toResponse(receipt: Receipt) {
  return { received: true, duplicate: receipt === 'duplicate' };
}

/** Calls back with the whole body. Node has checked that its length is the declared one. */
function readBody({ raw }: FastifyRequest, take: (body: Buffer) => void, fail: (error: Error) => void): void {
  const chunks: Buffer[] = [];
  raw.on('data', (chunk: Buffer) => chunks.push(chunk));
  raw.once('end', () => take(Buffer.concat(chunks)));
  raw.once('error', fail);
}

/** Writes the response that the framework would send for `toResponse`, with the headers that are set so far. */
function respond(reply: FastifyReply, receipt: Receipt): void {
  // The deadline has passed, and the caller has its response.
  if (reply.sent) return;
  const response = toResponse(receipt);
  // The framework closes the connection after the response.
  if (reply.server.isStopping()) return void reply.send(response);
  const text = JSON.stringify(response);
  // A new object. Its type says that every header there is may be undefined.
  const headers = reply.getHeaders() as OutgoingHttpHeaders;
  headers['content-type'] = 'application/json; charset=utf-8';
  headers['content-length'] = text.length;
  reply.raw.writeHead(200, headers).end(text);
}
