import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** After it, the memory of the process is that of live objects. */
export function collectGarbage(): void {
  // The flag makes the collector callable for contexts created afterwards.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
}
