import type { Documented } from '../../support/openapi-document.ts';
import { billing, billingAlone } from './billing.ts';
import { everywhere, refusedByProcessor } from './everywhere.ts';
import { operating, operatingAlone } from './operating.ts';
import { planTerms } from './plan-terms.ts';
import type { Recipe, Recipes } from './recipe.ts';

/**
 * The recipe for a case of an operation. Undefined if there is none. It says whether no other request may be in
 * progress meanwhile.
 */
export function findRecipe(
  code: string,
  operation: Documented,
): { readonly recipe: Recipe; readonly isAlone: boolean } | undefined {
  const inTable = (tables: readonly Recipes[]) =>
    tables.map((table) => table[code]?.[operation.name]).find((recipe) => recipe !== undefined);
  const alone =
    inTable([billingAlone, operatingAlone]) ??
    (code === 'processor_rejected' ? refusedByProcessor : undefined);
  if (alone !== undefined) return { recipe: alone, isAlone: true };
  const recipe = inTable([billing, planTerms, operating]) ?? everywhere[code];
  return recipe && { recipe, isAlone: false };
}
