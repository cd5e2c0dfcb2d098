// An HTTP proxy that loses answers: what was asked has been done by then, and only whoever asked does not know.
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';

/** Starts one on `port` for the server at `target`; it ends with the test `t`. Every second answer to a POST is lost; `lost` counts. */
export async function startLossyProxy(t, { port, target }) {
  const proxy = { url: `http://127.0.0.1:${port}`, lost: 0 };
  let posts = 0;
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const loses = method === 'POST' && posts++ % 2 === 0;
    const onward = send(target + url, { method, headers }, async (answer) => {
      if (loses) {
        for await (const _ of answer); // to its end: the service is done
        proxy.lost++;
        incoming.socket.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode, answer.headers);
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
  return proxy;
}
