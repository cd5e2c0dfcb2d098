// @ts-check
// A TCP proxy like many in front of an app: it closes every connection that is idle for a while.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Starts a proxy on `port` for the port `target` of this machine; it ends with the test `t`. `cuts` counts the closed connections. */
export async function startIdleProxy(t, { port, target, idleMs }) {
  const proxy = { url: `http://127.0.0.1:${port}`, cuts: 0 };
  const open = new Set();
  const server = createServer((client) => {
    const app = connect(target, '127.0.0.1');
    const sockets = [client, app];
    const cut = () => sockets.forEach((socket) => socket.destroy());
    for (const socket of sockets) {
      open.add(socket);
      socket.on('error', cut).on('close', () => open.delete(socket) && cut());
    }
    client.setTimeout(idleMs, () => {
      proxy.cuts++;
      cut();
    });
    client.pipe(app);
    app.pipe(client);
  });
  t.after(() => {
    server.close();
    open.forEach((socket) => socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return proxy;
}
