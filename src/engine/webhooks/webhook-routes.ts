import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import { Type } from '#core/platform/schemas.ts';
import { runInSpan } from '#core/platform/tracing.ts';
import type { WorkDoor } from '#core/platform/work-door.ts';
import { bodyFailures, commonFailures } from '#http/api-routes.ts';
import { response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { encodedRefused, isEncoded } from '#http/input/request-parts.ts';
import { paused } from '#http/load/paused-requests.ts';
import type { MirrorContext } from '../mirrors/mirror.ts';
import type { Inbox } from './inbox.ts';

const ReceivedSchema = component('ReceivedWebhook', {
  received: Type.Boolean(),
  duplicate: Type.Boolean({ description: 'True if Till had already received the event.' }),
});

/** The resets of the sandbox, if the processor can be one. Webhooks from before a reset are ignored. */
interface WebhookResets {
  readonly door: WorkDoor;
  isOutdated(lastReset: string | undefined): boolean;
}

const path = '/webhooks/processor';

/** Receives events from the processor. Verifies the signature of the raw bytes before it parses them. */
export async function registerWebhookRoutes(
  app: FastifyInstance,
  { processor, clock }: Pick<MirrorContext, 'processor' | 'clock'>,
  inbox: Inbox,
  resets?: WebhookResets,
): Promise<void> {
  const receiveNow = async (headers: IncomingHttpHeaders, body: Buffer) => {
    if (isEncoded(headers)) throw encodedRefused;
    const header = headers['stripe-signature'] ?? headers['processor-signature'];
    const signature = typeof header === 'string' ? header : undefined;
    const verified = processor.verifyWebhook(body, signature, clock.now());
    if (verified.outcome === 'bad_signature') throw new Failure('invalid_signature', verified.reason);
    if (verified.outcome === 'not_an_event') throw new Failure('malformed_request', verified.reason);
    const lastReset = headers['till-sandbox-last-reset'];
    if (resets?.isOutdated(typeof lastReset === 'string' ? lastReset : undefined))
      return { received: true, duplicate: false };
    const receipt = await inbox.receive(verified.event, verified.read);
    return { received: true, duplicate: receipt === 'duplicate' };
  };
  const receive = async (headers: IncomingHttpHeaders, body: Buffer) => {
    if (resets === undefined) return receiveNow(headers, body);
    // The sandbox sends it again, unless it is reset.
    const leave = resets.door.tryEnter();
    if (leave === undefined) throw paused();
    return receiveNow(headers, body).finally(leave);
  };
  app.directRoutes.add(path, receive);
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', ({ response: raw }, payload, done) => {
      const take = (body: Buffer) => done(null, body);
      app.unverifiedBodies.read(payload, take, (error) => {
        // The deadline of the request may have passed before reading the body is aborted.
        if (raw.headersSent) return;
        // The rest of the body would follow on the connection, so the connection is closed.
        raw.setHeader('connection', 'close');
        done(error);
      });
    });
    scope.post(
      path,
      {
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
        return runInSpan(request.span, () => receive(request.headers, body));
      },
    );
  });
}
