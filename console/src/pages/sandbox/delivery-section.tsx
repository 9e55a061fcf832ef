import { deliveryModes } from '../../../../src/operators/sandbox-control/sandbox-modes.ts';
import { SelectField } from '../../parts/field.tsx';
import { Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { callSandbox, type Delivery, useSandbox } from './sandbox-api.ts';
import { useControl } from './use-control.ts';

const texts: Readonly<Record<(typeof deliveryModes)[number], string>> = {
  normal: 'Normal: in order, once',
  paused: 'Paused: they wait',
  duplicate: 'Duplicate: each one twice',
  shuffle: 'Shuffle: late, and in any order',
  drop: 'Drop: none arrives',
};

/** How the sandbox delivers webhooks to Till. */
export function DeliverySection() {
  const delivery = useSandbox<Delivery>('/delivery');
  const { isBusy, run } = useControl();
  const post = (path: string, body: object | undefined, done: string) =>
    run(async () => {
      await callSandbox({ method: 'POST', path, body });
      delivery.reload();
    }, done);
  return (
    <Section title="Webhooks to Till">
      <Show resource={delivery}>
        {({ mode, endpoints }) => (
          <div class="controls">
            <SelectField
              label="Delivery"
              value={mode}
              onInput={(next) => void post('/delivery', { mode: next }, 'Delivery changed')}
            >
              {deliveryModes.map((one) => (
                <option key={one} value={one}>
                  {texts[one]}
                </option>
              ))}
            </SelectField>
            <span>{endpoints.reduce((sum, { waiting }) => sum + waiting, 0)} waiting</span>
            <button
              type="button"
              disabled={isBusy}
              onClick={() =>
                void post('/delivery/flush', undefined, 'Tried to deliver every waiting webhook')
              }
            >
              Deliver now
            </button>
            <button type="button" onClick={delivery.reload}>
              Refresh
            </button>
          </div>
        )}
      </Show>
    </Section>
  );
}
