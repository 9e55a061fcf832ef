import { showBank } from './challenge-frame.js';
import { reportCheckout } from './checkout-frame.js';
import { respond } from './controller-frame.js';
import { ElementFrame } from './element-frame.js';

const parameters = new URLSearchParams(location.hash.slice(1));
const type = parameters.get('componentName');

/** @param {object} message */
function tellPage(message) {
  // Nothing secret: the page that shows the frame may have any origin.
  parent.postMessage(message, '*');
}

/** @param {(message: any) => void} hear */
function listen(hear) {
  addEventListener('message', ({ source, data }) => {
    if (source === parent) hear(data);
  });
}

if (location.pathname.endsWith('/controller.html')) {
  listen(async ({ id, ...request }) => tellPage({ type: 'result', id, result: await respond(request) }));
} else if (location.pathname.endsWith('/three-ds-2-challenge.html')) {
  showBank(parameters.get('bank') ?? '', tellPage);
} else if (location.pathname.includes('/c/pay/')) {
  reportCheckout(tellPage);
} else if (type !== null) {
  document.title = `${document.title}: ${type}`;
  // The ids of fields begin differently in the oldest version of the library and in the named ones.
  const prefix =
    type === 'address' ? 'billingAddress' : type === 'linkAuthentication' ? 'linkAuth' : 'payment';
  const element = new ElementFrame(type, parameters.get('version') === '3' ? 'Field' : prefix, tellPage);
  Reflect.set(window, 'sandboxElement', {
    id: parameters.get('elementId'),
    collect: () => element.collect(),
  });
  listen((message) => {
    if (message.type === 'options') element.configure(message);
    if (message.type === 'focus') element.focus();
    if (message.type === 'blur') element.blur();
    if (message.type === 'clear') element.clear();
  });
}
tellPage({ type: 'started' });
