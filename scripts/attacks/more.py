"""Beyond the table: the same kinds of fault, tried in other places."""
import contextlib
import gzip
import os
import time

from . import relay
from .lab import Trial
from .table import MB, at_once, row, statuses, webhook
from .wire import Caller, Raw, encode, frame, start_of


def no_server_errors(t, answers, what):
    bad = [x for x in answers if x and x.status >= 500]
    t.expect(not bad, f'{what}: {statuses(bad)} {bad[:1] and bad[0].body[:200]}')
    t.expect(all(x and x.status for x in answers), f'{what}: {statuses(answers)}')


@row('m1', 'readers that read nothing: 60 of streams of 16 MB (bytes, frames, events), 40 of lists and logs of 40 MB')
def slow_readers(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run()
    for _ in range(16):
        me.chunk(run, os.urandom(1024) * 1024)
    me.chunk(run, os.urandom(1024) * 1024 * 32, 'one')
    for i in range(20):
        me.event(run, 'step_created', f'step_{i}', stepName='s', input=os.urandom(1024) * 2048)
    with t.measured(a, after=6):
        held = []
        for accept in ('*/*', 'application/vnd.world-redis.chunks', 'text/event-stream'):
            for i in range(20):
                held.append(me.unread('GET', f'/v1/runs/{run}/streams/{("s", "one")[i % 2]}', headers={'Accept': accept}))
        for path in (
            f'/v1/runs/{run}/events',
            f'/v1/runs/{run}/steps?limit=1000',
            f'/v1/streams/s/chunks?limit=1000&runId={run}',
            f'/v1/runs/{run}/events?limit=1000',
        ):
            for accept in ('application/cbor', 'application/json'):
                for _ in range(5):
                    held.append(me.unread('GET', path, headers={'Accept': accept}))
        t.saw(f'{len(held)} readers')
    for s in held:
        s.close()


@row('m2', 'held open: 400 waits for a run, 400 live reads, 400 watches, 400 idle call sockets')
def many_held(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run()
    me.chunk(run, b'first')
    held, refused = [], 0
    with t.measured(a, after=5):
        until = time.monotonic() + 30
        for _ in range(400):
            if time.monotonic() > until:
                break  # those that come are left to wait
            for method, path, headers in (
                ('GET', f'/v1/runs/{run}/wait?timeoutMs=60000', {}),
                ('GET', f'/v1/runs/{run}/streams/s', {}),
                ('GET', f'/v1/runs/{run}/streams/s', {'Accept': 'text/event-stream'}),
            ):
                try:
                    held.append(me.unread(method, path, headers=headers))
                except OSError:
                    refused += 1
            try:
                held.append(me.socket(timeout=5))
            except OSError:
                refused += 1
    t.saw(f'{len(held)} held, {refused} refused')
    for s in held:
        s.close()
    time.sleep(2)
    after = me.call('GET', f'/v1/runs/{run}')
    t.expect(after.status == 200, f'afterwards a run is answered {after.brief}')


@row('m3', 'bodies of 60 MB: 40 half sent, 10 whole at once, to each route that takes one')
def large_bodies(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run()
    part = b'\x5a' + (60 * MB).to_bytes(4, 'big') + b'\0' * (30 * MB)
    with t.measured(a, after=3):
        held = []
        routes = [
            '/v1/runs/get',
            f'/v1/runs/{run}/events',
            '/v1/queue',
            f'/v1/runs/{run}/streams/s',
            '/v1/calls',
            '/.well-known/workflow/v1/flow',
        ]
        for i in range(40):
            with contextlib.suppress(OSError):
                s = me.connect()
                kind = 'application/octet-stream' if 'streams' in routes[i % 6] else 'application/cbor'
                s.sendall(
                    me.head(
                        'POST', routes[i % 6], {'Content-Type': kind, 'Content-Length': 60 * MB, 'x-vqs-queue-name': '__wkf_workflow_x'}
                    )
                )
                held.append(s)

        def send(i):
            with contextlib.suppress(OSError):
                held[i].settimeout(20)
                held[i].sendall(part)

        at_once(len(held), send)
        t.saw(f'{len(held)} half bodies')
        time.sleep(2)
        for s in held:
            s.close()
        time.sleep(1)
        answers = at_once(
            10,
            lambda i: me.call(
                'POST',
                '/v1/queue',
                encode({'queueName': '__wkf_workflow_x', 'message': b'\0' * (60 * MB), 'delaySeconds': 999999}),
                kind='application/cbor',
            ),
        )
        t.saw(f'10 whole: {statuses(answers)}')
        # What was taken stands in Redis: that is not growth by small input.
        taken = sum(60 * MB for x in answers if x and x.status // 100 == 2)
    grew = t.facts.get('redis') or 0
    t.failures = [f for f in t.failures if not f.startswith('Redis grew')]
    t.expect(grew <= 3 * taken + 200 * MB, f'Redis grew by {grew // MB} MB for {taken // MB} MB')


@row('m4', 'HTTP: header floods, a body without end, compressed bodies, 10,000 requests on one connection, nonsense')
def odd_http(t: Trial):
    a = t.service_a()
    me, nobody = t.me(a), Caller(a.port)
    with t.measured(a, after=2):
        many = b''.join(b'a%d: b\r\n' % i for i in range(6_000))
        answers = at_once(
            100,
            lambda i: nobody.raw(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n' + many[:60_000].rpartition(b'\r\n')[0] + b'\r\n\r\n', 3)[
                0
            ],
        )
        t.saw(f'6,000 headers: {sorted(set(answers))}')
        held = []
        for _ in range(200):  # headers that never end
            s = nobody.connect()
            with contextlib.suppress(OSError):
                s.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n' + many[:60_000])
            held.append(s)
        sent, s = 0, me.connect()
        with contextlib.suppress(OSError):
            s.sendall(me.head('POST', '/v1/runs/get', {'Content-Type': 'application/cbor', 'Transfer-Encoding': 'chunked'}))
            while sent < 1024 * MB:
                s.sendall(b'100000\r\n' + b'\0' * MB + b'\r\n')
                sent += MB
        t.saw(f'a body without end was cut after {sent // MB} MB')
        t.expect(sent < 1024 * MB, 'a body without end is read for ever')
        bomb = gzip.compress(b'\0' * (200 * MB))
        for encoding in ('gzip', 'GZIP', 'deflate', 'br', 'identity, gzip', 'x-gzip'):
            for path in ('/v1/runs/get', '/v1/queue', '/.well-known/workflow/v1/flow', '/v1/calls'):
                answer = me.call(
                    'POST',
                    path,
                    bomb,
                    kind='application/cbor',
                    headers={'Content-Encoding': encoding, 'x-vqs-queue-name': '__wkf_workflow_x'},
                )
                t.expect(answer.status in (400, 415), f'a {encoding} body to {path} is answered {answer.brief}')
        s = me.connect(5)
        with contextlib.suppress(OSError):  # nobody reads the answers
            for _ in range(100):
                s.sendall(me.head('GET', '/v1/runs?limit=100') * 100)
        held.append(s)
        for nonsense in (
            b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0' * 1000,
            b'GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
            b'\0' * 100_000,
            b'GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
            b'GET http://169.254.169.254/ HTTP/1.1\r\nHost: x\r\n\r\n',
            b'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n',
            b'POST /v1/runs/get HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
            b'POST /v1/runs/get HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;' + b'x' * 200_000,
        ):
            status, _, _ = nobody.raw(nonsense, 1)
            t.expect(status in (0, 400, 401, 404, 405, 431, 501, 505), f'{nonsense[:40]!r} is answered {status}')
    for s in held:
        s.close()


@row(
    'm5',
    'call sockets: 100,000 pings, messages in fragments of one byte, 100,000 empty bundles, frames that are none, announced lengths without end',
)
def odd_frames(t: Trial):
    a = t.service_a()
    me = t.me(a)
    with t.measured(a, after=2):
        held = []

        def flood(data, times):
            s = me.socket(timeout=10, small=True)
            held.append(s)
            with contextlib.suppress(OSError):
                for _ in range(times):
                    s.sock.sendall(data)

        at_once(4, lambda i: flood(frame(b'x' * 100, 9) * 1000, 100))  # pings
        at_once(4, lambda i: flood(frame(b'', 9) * 1000, 100))
        at_once(4, lambda i: flood(frame(b'a', 0, fin=False) * 1000, 100))  # nothing was begun

        def fragments(i):
            s = me.socket(timeout=10)
            held.append(s)
            with contextlib.suppress(OSError):
                s.send(b'aaaa', 2, fin=False)
                for _ in range(500):
                    s.sock.sendall(frame(b'\0', 0, fin=False) * 1000)

        at_once(8, fragments)
        at_once(4, lambda i: flood(frame(b'aaaa' + encode({'calls': []})) * 1000, 100))  # empty bundles
        at_once(4, lambda i: flood(frame(b'aaaa') * 1000, 100))
        for odd in (
            frame(b'aaaa', 2, masked=False),
            b'\xf2\x80\0\0\0\0',
            frame(b'aaa'),
            frame(b'text', 1),
            frame(b'', 3),
            frame(b'x' * 200, 9),
            frame(b'', 8),
            frame(b'\x03', 8),
            frame(b'\x0f\xa1\xff', 8),
        ):
            s = me.socket(timeout=3)
            held.append(s)
            with contextlib.suppress(OSError):
                s.sock.sendall(odd)
        for announced in (1 << 62, (1 << 63) - 1, 5 * MB):
            for _ in range(50):
                s = me.socket()
                held.append(s)
                with contextlib.suppress(OSError):
                    s.send(b'aaaa', announced=announced)
    fresh = me.socket(timeout=20)
    fresh.bundle([{'path': '/v1/runs/wrun_none'}])
    got = fresh.receive()
    t.expect(got is not None and got[1][4:6] == (200).to_bytes(2, 'big'), f'a new socket gets {got}')
    t.saw(f'{len(held)} sockets')
    for s in held:
        s.close()


@row(
    'm6',
    'deep and endless values: 10 MB of [ in JSON and CBOR, numbers of 1 MB, a million CBOR pieces, odd text; ids and cursors that are none',
)
def odd_values(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run()
    deep = 5 * MB
    as_json = [
        b'[' * deep,
        b'{"a":' * deep,
        b'[' * 400 + b']' * 400,
        b'9' * MB,
        b'1e999999999',
        b'-' + b'0.' + b'1' * MB,
        b'"\\ud800"',
        b'"\\u0000"',
        b'{"a":1,"a":2}',
        b'{"__type":"Uint8Array","data":"' + b'A' * MB + b'"}',
        b'{"__type":"CBOR","data":"/////w=="}',
        b'{"__type":"Uint8Array","data":"?"}',
        b'[' + b'0,' * MB + b'0]',
        b'[' + b'{},' * MB + b'0]',
    ]
    as_cbor = [
        b'\x81' * deep,
        b'\xa1\x61a' * deep,
        b'\x9f' * deep,
        b'\xc2' * deep,
        b'\x5f' + b'\x40' * deep + b'\xff',
        b'\x7f' + b'\x60' * deep + b'\xff',
        b'\x9b\x7f' + b'\xff' * 7,
        b'\x5b\x7f' + b'\xff' * 7,
        b'\xbb\x7f' + b'\xff' * 7,
        b'\x62\xff\xfe',
        start_of(4, MB) + b'\x80' * MB,
        start_of(4, MB) + b'\xa0' * MB,
        b'\x1c',
        b'\xf8\x00',
        b'\xff',
        b'\xbf' + b'\x61a\x01' * MB + b'\xff',
    ]
    ids = [
        '%00',
        '..',
        '%2e%2e%2f',
        '\u00fc'.encode().hex(),
        '%f0%9f%a6%8a',
        'x' * 20_000,
        '%0d%0aX:y',
        '*',
        '%7B%7D',
        "'%20OR%201",
        '$(id)',
        '%ff%fe',
    ]
    bodies = [
        (
            lambda value: b'{"event":{"eventType":"run_created","specVersion":4,"eventData":{"deploymentId":"d","workflowName":"w","input":'
            + value
            + b'}}}',
            'application/json',
            as_json,
        ),
        (
            lambda value: encode(
                {
                    'event': {
                        'eventType': 'run_created',
                        'specVersion': 4,
                        'eventData': {'deploymentId': 'd', 'workflowName': 'w', 'input': Raw(value)},
                    }
                }
            ),
            'application/cbor',
            as_cbor,
        ),
    ]
    with t.measured(a):
        answers, slowest = [], 0
        for wrap, kind, values in bodies:
            for value in values:
                for path, body in (('/v1/events', wrap(value)), ('/v1/runs/get', value)):
                    answers.append(me.call('POST', path, body, kind=kind, timeout=30))
                    slowest = max(slowest, answers[-1].took)
        no_server_errors(t, answers, 'values')
        t.saw(f'values: {statuses(answers)}, the slowest {slowest:.1f} s')
        t.expect(slowest < 15, f'a value takes {slowest:.0f} s')
        answers = []
        for one in ids:
            for path in (
                f'/v1/runs/{one}',
                f'/v1/runs/{one}/events',
                f'/v1/runs/{run}/steps/{one}',
                f'/v1/hooks/{one}',
                f'/v1/hooks/by-token?token={one}',
                f'/v1/streams/{one}/info?runId={run}',
                f'/v1/queue/messages/{one}',
                f'/v1/runs?cursor={one}',
                f'/v1/runs/{run}/events?cursor={one}',
                f'/v1/queue/messages?cursor={one}',
                f'/v1/runs?workflowName={one}',
                f'/v1/runs?status={one}',
                f'/v1/runs?limit={one}',
                f'/v1/events?correlationId={one}',
                f'/v1/streams/s/chunks?runId={run}&cursor={one}',
                f'/v1/runs/{run}/wait?timeoutMs={one}',
            ):
                answers.append(me.call('GET', path, timeout=10))
            for path in (f'/v1/runs/{run}/streams/{one}', f'/v1/runs/{run}/streams/s?startIndex={one}'):  # may wait for a chunk
                live = me.call('GET', path, timeout=0.3)
                t.expect(live.status < 500, f'GET {path} is answered {live.brief}')
        answers += [me.call('GET', f'/v1/runs?limit={n}') for n in ('1e18', '99999999999999999999', '-1', 'NaN', '0x10', '1.5', '')]
        answers += [
            me.call('GET', '/v1/runs?' + '&'.join(['status=running'] * 4_000)),
            me.call('GET', '/v1/runs?workflowName=' + '*a' * 2_000),
            me.call('GET', '/v1/runs?workflowName=' + '(a%2B)%2B' * 1_000),
        ]
        no_server_errors(t, answers, 'ids')
        t.saw(f'ids and cursors: {statuses(answers)}, the slowest {max(x.took for x in answers):.1f} s')
    listed = me.call('GET', '/v1/runs?limit=100')
    t.expect(listed.status == 200, f'what was taken is listed with {listed.brief}')


@row(
    'm7',
    'apps that answer without end: bodies, headers, interim answers, a redirect to Redis; to webhooks, deliveries and the check of an address',
)
def endless_apps(t: Trial):
    a = t.service_a()
    me = t.me(a)
    me.plant_hook(me.plant_run(), 'hook')

    def stream(head, again, times):
        def answer(s):
            s.sendall(head)
            for _ in range(times):
                s.sendall(again)

        return answer

    apps = [
        relay.Listener(['127.0.0.1'], 0, answer)
        for answer in (
            stream(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n', b'[' * MB, 300),
            stream(b'HTTP/1.1 200 OK\r\n', b'X-Y: ' + b'z' * 100_000 + b'\r\n', 3_000),
            stream(b'', b'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n' * 1000, 300),
            stream(b'HTTP/1.1 307 See\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n' % a.redis.port, b'', 0),
        )
    ]
    for app in apps:
        t.cleanup(app.end)
    with t.measured(a, after=4):
        for i, app in enumerate(apps):
            base = {'baseUrl': f'http://127.0.0.1:{app.port}', 'deploymentId': 'dpl'}
            me.call('POST', '/v1/apps', base)
            for _ in range(8):
                me.call('POST', '/v1/queue', {'queueName': '__wkf_workflow_x', 'message': {'runId': 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'}})
            answers = at_once(4, lambda _: webhook(me, 'hook', 20))
            t.saw(f'{("bodies", "headers", "interim", "redirect")[i]}: webhooks {statuses(answers)}, {app.connections} connections')
            t.expect(not any(x and b'redis' in x.body.lower() for x in answers), 'a redirect was followed')
            me.call('POST', '/v1/apps/unregister', base)
    t.expect(os.path.getsize(a.log) < 2_000_000, f'the log has {os.path.getsize(a.log):,} bytes')


@row(
    'm8',
    'scripts whose work grows with what is stored: filters over 20,000 runs, a stream of 40,000 chunks and 20,000 messages of a run that ends, 499 runs cancelled at once',
)
def scripts(t: Trial):
    a = t.service_a()
    me = t.me(a)

    def plant_runs(i):
        for _ in range(20_000 // 64 // 4):
            event = {
                'event': {
                    'eventType': 'run_created',
                    'specVersion': 4,
                    'eventData': {'deploymentId': 'dpl', 'workflowName': 'many', 'input': 1},
                }
            }
            answer = me.cbor('POST', '/v1/calls', {'calls': [{'path': '/v1/events', 'body': encode(event)}] * 64})
            if answer.status != 200:
                raise RuntimeError(f'a bundle was refused: {answer.brief}')

    at_once(4, plant_runs)
    run = me.plant_run(1, {'$retention': '0'})
    chunks = b'\0\0\0\x01x' * 1_000
    for _ in range(40):
        me.call('POST', f'/v1/runs/{run}/streams/s', chunks, kind='application/vnd.world-redis.chunks')

    def plant_messages(_):
        for _ in range(20_000 // 64 // 4):
            me.cbor(
                'POST',
                '/v1/calls',
                {
                    'calls': [
                        {
                            'path': '/v1/queue',
                            'body': encode({'queueName': '__wkf_workflow_many', 'message': {'runId': run}, 'delaySeconds': 999}),
                        }
                    ]
                    * 64
                },
            )

    at_once(4, plant_messages)
    a.redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', 5000)
    a.redis.command('CONFIG', 'SET', 'slowlog-max-len', 1000)
    ids = [r['runId'] for r in me.call('GET', '/v1/runs?limit=500&resolveData=none&status=pending').json.get('data', [])]
    tries = [
        ('runs by a name that none has', 'GET', '/v1/runs?workflowName=none&limit=1000'),
        ('runs by name and status', 'GET', '/v1/runs?workflowName=none&status=pending&status=running&limit=1000'),
        ('a page of 1,000 runs', 'GET', '/v1/runs?limit=1000'),
        ('events by a correlation id', 'GET', '/v1/events?correlationId=none'),
        ('messages of a run', 'GET', f'/v1/runs/{run}/messages'),
        ('messages by run', 'GET', f'/v1/queue/messages?runId={run}&limit=200'),
        ('chunks', 'GET', f'/v1/streams/s/chunks?limit=1000&runId={run}'),
        ('redrive of a run', 'POST', '/v1/queue/redrive', {'runId': run}),
        ('redrive of all', 'POST', '/v1/queue/redrive', {'all': True}),
        ('499 runs cancelled', 'POST', '/v1/runs/cancel', {'runIds': [i for i in ids if i != run]}),
        ('the end of the run', 'POST', '/v1/runs/cancel', {'runIds': [run]}),
    ]
    with t.measured(a):
        for name, method, path, *body in tries:
            a.redis.command('SLOWLOG', 'RESET')
            watch = a.redis.watch_scripts()
            answer = me.call(method, path, *body)
            time.sleep(2 if method == 'POST' else 0)
            watch.end()
            slowest = max((entry[2] / 1000 for entry in a.redis.command('SLOWLOG', 'GET', 1000)), default=0)
            t.saw(f'{name}: {answer.brief}, {watch.calls:,} calls, {watch.frees:,} fields, {slowest:.0f} ms')
            t.expect(answer.status == 200, f'{name}: {answer.brief} {answer.body[:100]}')
            t.expect(
                watch.calls <= 2_100 and watch.frees <= 2_100,
                f'{name}: a script makes {watch.calls:,} calls and frees {watch.frees:,} fields',
            )
            t.expect(slowest < 2_000, f'{name}: Redis stands for {slowest:.0f} ms')
