import type { Lab } from './lab.ts';
import type { Finding } from './report.ts';

/** A measurement: it starts what it needs, measures the contestants side by side, and ends what it started. */
export interface Scenario {
  /** The rows of the table that it fills. */
  readonly names: readonly string[];
  run(lab: Lab): Promise<readonly Finding[]>;
  /**
   * Ends what must live until its CPU time was read: Chromium does not wait for its own processes when it is closed.
   */
  end?(): Promise<void>;
}
