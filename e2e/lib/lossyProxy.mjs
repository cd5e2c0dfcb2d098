// @ts-check
// An HTTP proxy that loses answers: the service has made the call, but the caller does not know it.
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { connect } from 'node:net';

/**
 * Starts a proxy on `port` for the server at `target`; it ends with the test `t`. Every second answer to a POST is
 * lost; of a WebSocket the third answer is lost, and the socket is closed. `lost` counts the lost answers.
 */
export async function startLossyProxy(t, { port, target }) {
  const proxy = { url: `http://127.0.0.1:${port}`, lost: 0 };
  let posts = 0;
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const loses = method === 'POST' && posts++ % 2 === 0;
    const onward = send(target + url, { method, headers }, async (answer) => {
      if (loses) {
        for await (const _ of answer); // completely: the service is done
        proxy.lost++;
        incoming.socket.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  const sockets = new Set();
  server.on('upgrade', ({ url, rawHeaders }, client) => {
    const { hostname, port: at } = new URL(target);
    const service = connect(Number(at), hostname);
    sockets.add(client);
    let answers = -1; // the first is the one to the upgrade
    service.write(`GET ${url} HTTP/1.1\r\n`);
    for (let i = 0; i < rawHeaders.length; i += 2) service.write(`${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`);
    service.write('\r\n');
    client.pipe(service);
    service.on('data', (data) => {
      if (++answers < 3) return client.write(data);
      proxy.lost++;
      client.destroy();
    });
    for (const [one, other] of [
      [client, service],
      [service, client],
    ])
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return proxy;
}
