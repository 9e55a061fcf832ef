import { shown } from './numbers.ts';

/** The target for the ratio to the baseline, or for the value itself if there is no baseline. */
export type Goal = { readonly atLeast: number } | { readonly atMost: number };

/** CPU milliseconds per 1,000 operations: steadier than speed on a shared machine. */
export interface CpuPer1000 {
  readonly serviceCpuMs: number;
  readonly databaseCpuMs: number;
}

export interface Finding {
  readonly name: string;
  /** Null if it could not be measured. The note says why. */
  readonly value: number | null;
  readonly unit: string;
  readonly baseline?: number;
  /** The ratio, if it differs from `value` ÷ `baseline`. */
  readonly ratio?: number;
  readonly goal?: Goal;
  readonly cpu?: CpuPer1000;
  readonly baselineCpu?: CpuPer1000;
  readonly note?: string;
}

/** One entry of results.json. */
export interface Result {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  readonly goal: string | null;
  readonly met: boolean | null;
  readonly cpuMsPer1000: CpuPer1000 | null;
  readonly baselineCpuMsPer1000: CpuPer1000 | null;
  readonly note: string | null;
}

export function toResult(finding: Finding): Result {
  const { name, value, unit, baseline = null, goal, cpu = null, baselineCpu = null, note = null } = finding;
  const ratio = finding.ratio ?? (baseline === null || value === null ? null : value / baseline);
  const measured = ratio ?? value;
  return {
    name,
    value,
    unit,
    baseline,
    ratio,
    goal: goal === undefined ? null : 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`,
    met: goal === undefined || measured === null ? null : reaches(measured, goal),
    cpuMsPer1000: cpu,
    baselineCpuMsPer1000: baselineCpu,
    note,
  };
}

function reaches(measured: number, goal: Goal): boolean {
  return 'atLeast' in goal ? measured >= goal.atLeast : measured <= goal.atMost;
}

const headings = [
  'name',
  'value',
  'unit',
  'baseline',
  'ratio',
  'goal',
  'met',
  'CPU ms/1,000',
  'baseline CPU',
];

/** A table for the terminal that is also valid Markdown. */
export function table(results: readonly Result[]): string {
  const rows = results.map((result) => [
    `\`${result.name}\``,
    result.value === null ? 'skipped' : shown(result.value),
    result.unit,
    result.baseline === null ? '' : shown(result.baseline),
    result.ratio === null ? '' : shown(result.ratio),
    result.goal ?? '',
    result.met === null ? '' : result.met ? 'yes' : '**no**',
    describeCpu(result.cpuMsPer1000),
    describeCpu(result.baselineCpuMsPer1000),
  ]);
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  const notes = results.flatMap(({ name, note }) => (note === null ? [] : [`\`${name}\`: ${note}`]));
  return [line(headings), line(rule), ...rows.map(line), '', ...notes].join('\n').trimEnd();
}

/** The CPU time of the service, and that of PostgreSQL for it. */
function describeCpu(cpu: CpuPer1000 | null): string {
  return cpu === null ? '' : `${shown(cpu.serviceCpuMs)} + ${shown(cpu.databaseCpuMs)}`;
}
