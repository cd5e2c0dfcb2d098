// @ts-check
// An npm registry of some tarballs, as a package manager sees it: a document for each package, and its archive.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { portOf } from './process.mjs';

/**
 * Starts it on a free port. `fetched` has the names of the packages whose archives were fetched.
 *
 * @param {string[]} tarballs
 */
export async function startRegistry(tarballs) {
  const packages = new Map(tarballs.map((file) => read(file)).map((one) => [one.manifest.name, one]));
  const fetched = new Set();
  const server = createServer((request, response) => {
    const [name, archive] = decodeURIComponent(request.url?.split('?')[0] ?? '')
      .slice(1)
      .split('/-/');
    const found = packages.get(name);
    if (!found) return response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
    if (!archive) return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document(found, url)));
    fetched.add(name);
    return response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found.bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${portOf(server)}`;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, fetched, stop };
}

function read(file) {
  const bytes = readFileSync(file);
  return { bytes, manifest: JSON.parse(execFileSync('tar', ['-xzOf', file, 'package/package.json'], { encoding: 'utf8' })) };
}

function document({ manifest, bytes }, url) {
  const { name, version } = manifest;
  const dist = {
    tarball: `${url}/${name}/-/archive-${version}.tgz`,
    integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
    shasum: createHash('sha1').update(bytes).digest('hex'),
  };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } }, time: { [version]: '2020-01-01T00:00:00.000Z' } };
}
