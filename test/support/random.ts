export { createRandom, type Random } from '../../src/seed/random.ts';
