/** A mistake in the code of the page, as the real library reports it. */
export class IntegrationError extends Error {
  /** @override */
  name = 'IntegrationError';
}

/** @param {string} what */
export function notSupported(what) {
  return new IntegrationError(`${what} is not supported by the sandbox.`);
}

/** The names of calls begin with these verbs. Frameworks read other names to find out what an object is. */
const callName =
  /^(add|collect|confirm|create|get|handle|init|load|process|redirect|register|retrieve|verify)[A-Z]/;

/**
 * The object, whose other calls throw, even those that the real library gets in the future.
 * @template {object} T
 * @param {T} target
 * @param {string} owner
 * @returns {T}
 */
export function refusingOthers(target, owner) {
  return new Proxy(target, {
    get: (object, name) => {
      const value = Reflect.get(object, name);
      // Private fields belong to the object, not to its proxy.
      if (typeof value === 'function') return value.bind(object);
      if (name in object || typeof name === 'symbol' || !callName.test(name)) return value;
      return () => {
        throw notSupported(`${owner}.${name}()`);
      };
    },
  });
}
