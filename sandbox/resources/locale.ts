import * as p from '../wire/params.ts';

/** The languages of the processor's own pages. The sandbox's pages are in English. */
export const locale = p.oneOf(
  ...`auto bg cs da de el en en-AU en-CA en-GB en-IE en-IN en-NZ en-SG es es-419 et fi fil fr fr-CA hr hu id it ja ko
  lt lv ms mt nb nl pl pt pt-BR ro ru sk sl sv th tr vi zh zh-HK zh-TW`.split(/\s+/),
);
