// @ts-check
// An HTTP proxy in front of the service that can hold back an app's writes: by then, the events that the app based
// them on may be gone. The app must not use call sockets (WORKFLOW_WORLD_SOCKET=off).
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';

/** Starts a proxy for the service at `target`; it ends with the test `t`. */
export async function startEventGate(t, { port, target }) {
  let holds;
  const server = createServer(async (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const parts = [];
    for await (const part of incoming) parts.push(part);
    const body = Buffer.concat(parts);
    if (method === 'POST' && holds?.matches(body)) {
      const { held } = holds;
      holds = undefined;
      await new Promise((release) => held(release));
    }
    const onward = send(target + url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => onward.destroy());
    onward.end(body);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    /** Holds the next call whose body has all words of one of these lists; resolves when it arrives, with a function that releases it. */
    hold: (...lists) => new Promise((held) => (holds = { held, matches: (body) => lists.some((words) => words.every((word) => body.includes(word))) })),
  };
}
