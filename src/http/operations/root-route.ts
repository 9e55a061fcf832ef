import type { FastifyInstance } from 'fastify';

/** Redirects people who open the address of Till to the console, and tells programs which service this is. */
export function registerRoot(app: FastifyInstance, hasConsole: boolean): void {
  const page = hasConsole ? '/console' : '/api/docs';
  const links = {
    name: 'Till',
    description: 'Payments and subscriptions over HTTP.',
    documentation: '/api/docs',
    openapi: '/api/docs/openapi.json',
    ...(hasConsole ? { console: '/console' } : {}),
    health: '/health',
  };
  app.get('/', { schema: { hide: true } }, (request, reply) => {
    reply.header('vary', 'accept');
    return request.headers.accept?.includes('text/html') ? reply.redirect(page) : reply.send(links);
  });
}
