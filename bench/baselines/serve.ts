import { type FastifyInstance, fastify } from 'fastify';

/** A Fastify app without plugins. */
export function bareApp(): FastifyInstance {
  return fastify();
}

/** Listens on a free port and prints its URL in the service's format. SIGTERM ends it. */
export async function serve(app: FastifyInstance): Promise<void> {
  printReady(await app.listen({ host: '127.0.0.1', port: 0 }));
}

export function printReady(url: string): void {
  process.stdout.write(`${JSON.stringify({ url, msg: 'ready' })}\n`);
}

/** A setting that every contestant gets, under the name that the service uses. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** A route for signed events. Its handler gets the signed bytes. */
export function onEvent(
  app: FastifyInstance,
  take: (body: Buffer, signature: string) => unknown,
): FastifyInstance {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.post('/webhooks/processor', async (request) => {
    if (!Buffer.isBuffer(request.body)) throw new Error('there is no body');
    await take(request.body, String(request.headers['stripe-signature']));
    return { received: true, duplicate: false };
  });
  return app;
}
