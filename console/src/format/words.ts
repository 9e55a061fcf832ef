/** `requires_payment_method` as people read it: Requires payment method. */
export function words(code: string): string {
  const text = code.replaceAll(/[_.]/g, ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `currentPeriodEnd` as people read it: Current period end. */
export function fieldLabel(name: string): string {
  const text = name.replaceAll(/([a-z0-9])([A-Z])/g, (_all, before: string, letter: string) => {
    return `${before} ${letter.toLowerCase()}`;
  });
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${new Intl.NumberFormat().format(count)} ${count === 1 ? one : many}`;
}
