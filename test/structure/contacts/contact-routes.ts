import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { DateTime, Id, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { registerListRoute } from '#http/read-routes.ts';
import { contactView } from './contact.ts';
import { ContactStore } from './contact-store.ts';

const ContactSchema = component('Contact', {
  id: Id,
  processorCustomerId: Type.String(),
  email: nullable(Type.String()),
  name: nullable(Type.String()),
  createdAt: DateTime,
  updatedAt: DateTime,
});

const example = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  processorCustomerId: 'cus_Nffr5zNcVKZ0aB',
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

export function registerContactRoutes(app: FastifyInstance, { database }: MirrorContext): void {
  const store = new ContactStore();
  registerListRoute(app, {
    path: '/api/v1/contacts',
    tag: 'contacts',
    plural: 'contacts',
    operationId: 'listContacts',
    summary: 'List contacts, newest first',
    schema: ContactSchema,
    example,
    filters: {},
    list: (request) => store.list(database, request),
    toResponse: contactView,
  });
}
