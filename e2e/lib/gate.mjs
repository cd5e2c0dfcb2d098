// @ts-check
// An HTTP proxy in front of an app that can hold back a delivery: its preload is then older than what has happened
// since.
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';

/** Starts a proxy on `port` for the app at `target`; it ends with the test `t`. */
export async function startGate(t, { port, target }) {
  let holds;
  const gate = {
    url: `http://127.0.0.1:${port}`,
    /** Holds the next delivery of a flow; resolves when it arrives, with its headers and a function that releases it. */
    holdFlow: () => new Promise((resolve) => (holds = resolve)),
  };
  const server = createServer(async (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    if (holds && method === 'POST' && url?.endsWith('/flow')) {
      const held = holds;
      holds = undefined;
      await new Promise((release) => held({ headers, release }));
    }
    const onward = send(target + url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return gate;
}
