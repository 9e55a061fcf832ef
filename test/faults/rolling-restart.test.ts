import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effort } from '../support/effort.ts';
import { startBalancer } from './rig/balancer.ts';
import { startRig } from './rig/rig.ts';

const { rounds, processes } = effort({
  short: { rounds: 1, processes: 2 },
  long: { rounds: 20, processes: 3 },
});
/** Many requests in the seconds for which a process goes on after the signal. */
const paceMs = effort({ short: 100, long: 30 });

test('a rolling restart of the processes behind one port fails no request', async (t) => {
  const rig = await startRig(t, {
    processes,
    // Many times the interval of the balancer's checks, so that it notices in time on a busy machine too.
    environment: { STOP_DELAY_SECONDS: '3' },
    front: startBalancer,
  });
  // Connections that are used often learn in time that their process is about to stop.
  const load = rig.startLoad({ paceMs });
  await load.progressed(20);
  for (let round = 0; round < rounds; round += 1) {
    for (const till of rig.tills) {
      assert.equal(await till.restart(), 0, 'it ended in order');
      await load.progressed(10);
    }
  }
  await rig.check(load, { failures: [] });
  t.diagnostic(`${load.ledger.client.attempts.length} requests, ${processes * rounds} restarts`);
});
