import { objectKind } from '#engine/events/outbox/object-kind.ts';
import type { Feature } from '#engine/feature.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { asShown, type CountedKind, countOf } from '#engine/overview/counted-kind.ts';
import { nothing } from '#engine/search/search.ts';
import { byFields, byIds, caseless } from '#engine/search/search-source.ts';
import { rowsOf, stageOf } from '#engine/sync/import-stage.ts';
import { type Contact, type ContactView, contactView } from './contact.ts';
import { ContactMirror } from './contact-mirror.ts';
import { registerContactRoutes } from './contact-routes.ts';
import { ContactStore, contactList, ownedContacts } from './contact-store.ts';

const store = new ContactStore();

const contactEvents = {
  objectType: 'contact',
  shownBy: 'GET /contacts',
  meanings: { 'contact.created': 'A contact was created.', 'contact.updated': 'A contact changed.' },
} as const;

const erasedContact = { email: null, name: null };

const contactKind = objectKind({
  events: contactEvents,
  table: 'contacts',
  show: (row: Contact) => ({
    id: row.id,
    customerId: row.customerId,
    view: contactView(row),
    erased: row.email === null ? Object.keys(erasedContact) : [],
    ids: [row.id, row.processorCustomerId],
  }),
  typeOf: () => 'contact.updated',
});

/** As if contacts had a currency. */
const countedContacts: CountedKind<Contact, ContactView, ContactView> = {
  type: 'contact',
  fields: ['createdAt'],
  complete: asShown,
  contributionsOf: ({ createdAt }, zone) => [
    { day: zone.dayOfIso(createdAt), currency: 'eur', metric: 'contacts', count: 1, amount: 0n },
  ],
  listAfter: (db, last, limit) => store.listAfter(db, last?.id ?? null, limit),
  viewOf: contactView,
};

export const contactFeature: Feature<MirrorContext> = {
  tags: [{ name: 'contacts', description: 'Whom to write to.' }],
  routes: registerContactRoutes,
  events: [contactEvents],
  kinds: () => [contactKind],
  owned: [ownedContacts],
  erased: { contact: erasedContact },
  search: {
    contact: () => [
      byIds(store, show),
      byFields((...by) => store.findByEmail(...by), show, ['email'], caseless),
    ],
  },
  lists: {
    contact: {
      after: ['customer'],
      open: (context) => mirroredList(new ContactMirror(context), context.processor.customers),
      count: async ({ database }) => (await store.list(database, { limit: 1, filters: {} })).total,
    },
  },
  imports: {
    contact: {
      after: ['customer'],
      open: (context) => {
        const mirror = new ContactMirror(context);
        const rows = rowsOf(store, 'processorCustomerId');
        return stageOf(mirroredList(mirror, context.processor.customers), rows);
      },
    },
  },
  counted: () => [countedContacts],
  totals: { contacts: countOf('contacts', 'The contacts that were created in these days.', 1) },
  countedLists: [contactList],
};

function show({ id, name, email, processorCustomerId, createdAt }: Contact) {
  const label = name ?? email ?? processorCustomerId;
  return { ...nothing, objectType: 'contact', objectId: id, label, createdAt };
}
