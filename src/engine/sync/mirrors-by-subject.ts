import type { Subject, SubjectFacts } from '#processor/port/event-facts.ts';
import type { Mirror } from '../mirrors/mirror.ts';

/** The mirror that applies the events about each subject, in the order in which every transaction locks the tables. */
export type MirrorsBySubject = { readonly [S in Subject]: Mirror<SubjectFacts[S]> };
