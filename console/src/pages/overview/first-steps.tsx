import type { RequestOptions } from '@till/client';
import { useState } from 'preact/hooks';
import { type Resource, useResource } from '../../api/use-resource.ts';
import { home, listOf } from '../../links.ts';
import { Section } from '../../parts/page.tsx';
import type { Scope } from '../../session.ts';
import { can, till } from '../../session.ts';

/** Set when a person hides the list. */
const storageName = 'till-first-steps';
const one = { limit: 1 };

interface Step {
  readonly scope: Scope;
  readonly text: string;
  readonly why: string;
  readonly href: string;
  /** The first object, if there is one. */
  readonly read: (options: RequestOptions) => Promise<{ readonly data: readonly unknown[] }>;
}

/** Whether each step is done, by the type of object that it creates. */
type Done = Readonly<Record<string, boolean>>;

/** By the type of object that each creates. */
const steps: Readonly<Record<string, Step>> = {
  plan: {
    scope: 'read',
    text: 'Create a plan',
    why: 'What customers subscribe to.',
    href: listOf('plan'),
    read: async (options) => ({ data: await till().plans.list({}, options) }),
  },
  customer: {
    scope: 'read',
    text: 'Create a customer',
    why: 'People or companies that pay you.',
    href: listOf('customer'),
    read: (options) => till().customers.list(one, options).page(),
  },
  payment: {
    scope: 'read',
    text: 'Take a payment',
    why: 'Create a checkout, and open its link.',
    href: listOf('checkout'),
    read: (options) =>
      till()
        .payments.list({ ...one, source: 'all' }, options)
        .page(),
  },
  eventEndpoint: {
    scope: 'operate',
    text: 'Add an event endpoint',
    why: 'Till tells your application what happens.',
    href: listOf('eventEndpoint'),
    read: (options) => till().eventEndpoints.list(one, options).page(),
  },
  apiKey: {
    scope: 'admin',
    text: 'Create an API key',
    why: 'One for each application.',
    href: `${home}/api-keys`,
    read: (options) => till().apiKeys.list(one, options).page(),
  },
};

/**
 * The remaining steps after an installation. Each step is marked when it is done, and the list disappears when all are
 * done.
 */
export function FirstSteps() {
  const [isHidden, setHidden] = useState(localStorage.getItem(storageName) !== null);
  const resource: Resource<Done> = useResource(
    readDone,
    isHidden ? null : [],
    // Steps that are done are not checked again.
    ({ objectType }) => resource.value?.[objectType] === false,
  );
  const done = resource.value;
  if (isHidden || done === undefined) return null;
  const count = Object.values(done).filter(Boolean).length;
  const all = Object.keys(done).length;
  if (count === all) return null;
  const hide = () => {
    localStorage.setItem(storageName, 'hidden');
    setHidden(true);
  };
  return (
    <Section
      title="First steps"
      aside={
        <span class="row-actions">
          <span class="quiet">
            {count} of {all} done
          </span>
          <button type="button" onClick={hide}>
            Hide
          </button>
        </span>
      }
    >
      <ul class="plain steps">
        {allowed().map(([type, { text, why, href }]) => (
          <li key={type} class={done[type] === true ? 'done' : ''}>
            <span class="visually-hidden">{done[type] === true ? 'Done: ' : 'To do: '}</span>
            <a href={href}>{text}</a> <span class="quiet">{why}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The steps that the API key may see. */
function allowed(): readonly (readonly [string, Step])[] {
  return Object.entries(steps).filter(([, { scope }]) => can(scope));
}

async function readDone(options: RequestOptions): Promise<Done> {
  const entries = allowed().map(async ([type, { read }]) => {
    const { data } = await read(options);
    return [type, data.length > 0] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
