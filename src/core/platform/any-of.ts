/**
 * The ids of a parameter, for `column = …`. The subquery hides from the planner how many there are: with their number,
 * a plan for one id seems cheaper than one for any number, and PostgreSQL would plan the statement again at every
 * execution, which takes up to ten times as long as the lookup.
 */
export function anyOf(parameter: string, type: 'text' | 'uuid'): string {
  return `any((select ${parameter}::${type}[])::${type}[])`;
}
