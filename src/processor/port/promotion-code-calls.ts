export interface PromotionCodeCalls {
  /**
   * The processor's id of the active promotion code that a customer entered, in any case. A code that is restricted to
   * this customer comes before one for all customers. Null if there is neither.
   */
  find(entered: { readonly code: string; readonly processorCustomerId: string }): Promise<string | null>;
}
