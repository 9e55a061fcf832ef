import { useState } from 'preact/hooks';
import { faultKinds } from '../../../../src/operators/sandbox-control/sandbox-modes.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { callSandbox, type Faults, type Operations, useSandbox } from './sandbox-api.ts';
import { useControl } from './use-control.ts';

type FaultKind = (typeof faultKinds)[number];

const texts: Readonly<Record<FaultKind, string>> = {
  error: 'An error response',
  latency: 'A slow response',
  hang: 'No response',
  reset_before: 'Connection lost before it acts',
  reset_after: 'Connection lost after it acted',
};

/** The faults of the next requests of Till to the sandbox. */
export function FaultsSection() {
  const faults = useSandbox<Faults>('/faults');
  const { isBusy, run } = useControl();
  const remove = (path: string, done: string) =>
    run(async () => {
      await callSandbox({ method: 'DELETE', path });
      faults.reload();
    }, done);
  return (
    <Section title="Faults">
      <AddFault onAdded={faults.reload} />
      <Show resource={faults}>
        {({ faults: set }) =>
          set.length === 0 ? (
            <Empty>No faults: every request of Till succeeds.</Empty>
          ) : (
            <>
              <DataTable
                caption="Faults"
                rows={set}
                keyOf={({ id }) => id}
                columns={[
                  {
                    header: 'Operation',
                    cell: ({ operation }) => (operation === '*' ? 'Any' : <code>{operation}</code>),
                  },
                  { header: 'What happens', cell: ({ kind }) => texts[kind] },
                  { header: 'Requests left', cell: ({ times }) => times, isNumber: true },
                  {
                    header: 'Remove',
                    cell: ({ id, operation }) => (
                      <button
                        type="button"
                        disabled={isBusy}
                        aria-label={`Remove the fault of ${operation}`}
                        onClick={() => void remove(`/faults/${id}`, 'Fault removed')}
                      >
                        Remove
                      </button>
                    ),
                  },
                ]}
              />
              <button
                type="button"
                disabled={isBusy}
                onClick={() => void remove('/faults', 'All faults removed')}
              >
                Remove all
              </button>
            </>
          )
        }
      </Show>
    </Section>
  );
}

function AddFault({ onAdded }: { readonly onAdded: () => void }) {
  const operations = useSandbox<Operations>('/operations');
  const { isBusy, run } = useControl();
  const [operation, setOperation] = useState('*');
  const [kind, setKind] = useState<FaultKind>('error');
  const [times, setTimes] = useState('1');
  const isValid = /^[1-9]\d{0,5}$/.test(times);
  const add = () =>
    run(async () => {
      const extra = kind === 'latency' ? { latencyMs: 3_000 } : kind === 'error' ? { status: 500 } : {};
      const body = { operation, kind, times: Number(times), ...extra };
      await callSandbox({ method: 'POST', path: '/faults', body });
      onAdded();
    }, 'Fault added');
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        if (isValid) void add();
      }}
    >
      <SelectField label="Operation" value={operation} onInput={setOperation}>
        <option value="*">Any</option>
        {operations.value?.operations.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </SelectField>
      <SelectField
        label="What happens"
        value={kind}
        onInput={(next) => setKind(faultKinds.find((one) => one === next) ?? 'error')}
      >
        {faultKinds.map((one) => (
          <option key={one} value={one}>
            {texts[one]}
          </option>
        ))}
      </SelectField>
      <TextField label="Requests" value={times} inputmode="numeric" isValid={isValid} onInput={setTimes} />
      <button type="submit" disabled={isBusy || !isValid}>
        Add fault
      </button>
    </form>
  );
}
