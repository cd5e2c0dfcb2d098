"""The rows of the table: each fault that was found once, sent again."""
import contextlib
import os
import re
import shlex
import subprocess
import threading
import time

from . import relay
from .client import node_client
from .lab import BINARY, METADATA, METRICS_TOKEN, MINE, MY_TOKEN, THEIRS, Tenant, Trial, end, free_port, redis_command, spawn
from .wire import Caller, Raw, encode, start_of, tagged, wide_map

MB = 1 << 20
ROWS = {}


def row(name, what):
    def add(function):
        ROWS[name] = (what, function)
        return function

    return add


def at_once(count, make, *args):
    """Makes the same thing in several threads and waits for all; returns what each returned."""
    out = [None] * count

    def one(i):
        out[i] = make(i, *args)

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(150)
    return out


def statuses(answers):
    counts = {}
    for a in answers:
        counts[a.brief if a else 'hangs'] = counts.get(a.brief if a else 'hangs', 0) + 1
    return ', '.join(f'{n} x {s}' for s, n in sorted(counts.items()))


def metrics(service):
    return Caller(service.port, METRICS_TOKEN).call('GET', '/metrics', accept='*/*')


@row('1', 'no token: 3,000 requests with methods X1 to X3000 on /v1/runs, 200 with a method of 900 kB')
def methods(t: Trial):
    a = t.service_a()
    nobody = Caller(a.port)
    with t.measured(a):
        for method in ['X%d' % i for i in range(3000)]:
            nobody.raw(f'{method} /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'.encode(), 5)
        for i in range(200):
            nobody.raw(b'Y%d' % i + b'M' * 900_000 + b' /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 5)
    size = metrics(a).size
    t.saw(f'/metrics has {size / 1000:,.0f} kB')
    t.expect(size < 1_000_000, f'/metrics has {size:,} bytes')
    t.expect(t.facts['rss'][1] - t.facts['rss'][0] < 100 * MB, 'memory stays taken')


@row('2', 'no token: bodies that never come, half headers and idle connections, more than there are files (ulimit -n 512)')
def stalled(t: Trial):
    a = t.service_a(files=512)
    nobody, me = Caller(a.port), t.me(a)
    with t.measured(a):
        for method, path in (
            ('GET', '/healthz'),
            ('GET', '/metrics'),
            ('POST', '/v1/runs/get'),
            ('GET', '/nothing'),
            ('POST', f'/ns/{MINE}/.well-known/workflow/v1/webhook/none'),
        ):
            status, closed, _ = nobody.raw(nobody.head(method, path, {'Content-Length': 1000}), 8)
            t.expect(
                status and closed,
                f'{method} {path} with a body that never comes: status {status}, {"closed" if closed else "open"} after 8 s',
            )
        body = me.connect(90)
        body.sendall(me.head('POST', '/v1/runs/get', {'Content-Type': 'application/json', 'Content-Length': 1000}) + b'{')
        began, held = time.monotonic(), []
        for beginning in (
            b'',
            b'GET / HT',
            nobody.head('GET', '/healthz', {'Content-Length': 1000}),
            nobody.head('POST', '/v1/calls')[:-2],
        ):
            for _ in range(160):
                with contextlib.suppress(OSError):
                    s = nobody.connect(1)
                    s.sendall(beginning)
                    held.append(s)
        answers, until = [], time.monotonic() + 30
        while time.monotonic() < until:
            answers.append(Caller(a.port, me.token).call('GET', '/v1/runs?limit=1', timeout=5))
            if answers[-1].status == 200:
                break
            time.sleep(0.5)
        t.saw(
            f'a new caller beside {len(held)} such connections was answered {answers[-1].brief} after {30 - max(0, until - time.monotonic()):.0f} s'
        )
        t.expect(answers[-1].status == 200, 'no new caller was answered in 30 s')
        body.settimeout(80)
        try:
            got = body.recv(1000)
        except OSError:
            got = b''
        t.saw(f'a stalled body was given up after {time.monotonic() - began:.0f} s')
        t.expect(b' 400 ' in got[:20] or b' 408 ' in got[:20], f'a stalled body of a call is answered {got[:20]!r}')
        for s in held:
            s.close()


@row('3', 'one chunk of 120 KB that stands for 1 GB (9,999 references to a text of 100 kB), watched as text/event-stream')
def references(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run()
    text = '"' + 'x' * 100_000 + '"'
    refs = ','.join(['1'] * 9_999)
    lists = [
        f'[[{refs}],{text}]',
        f'[["Set",{refs}],{text}]',
        '[{' + ','.join(f'"k{i}":1' for i in range(9_000)) + f'}},{text}]',
        '[' + ','.join(f'[{i + 1},{i + 1}]' for i in range(60)) + ',"x"]',
        '[' + ','.join(f'[{i + 1}]' for i in range(30_000)) + ',1]',
    ]
    for i, devalue in enumerate(lists):
        value = b'devl' + devalue.encode()
        me.chunk(run, len(value).to_bytes(4, 'big') + value, f's{i}')
        me.call('POST', f'/v1/runs/{run}/streams/s{i}/close')
    with t.measured(a):
        answers = at_once(
            2 * len(lists), lambda i: me.call('GET', f'/v1/runs/{run}/streams/s{i % len(lists)}', accept='text/event-stream', timeout=20)
        )
    t.saw(f'{statuses(answers)}, at most {max(x.size for x in answers if x) / MB:.1f} MB')
    t.expect(all(x and x.status == 200 for x in answers), 'a watch was not answered')


@row('4', 'POST /v1/runs/get with one id 1,000 times (a run with 2 MiB of input), and GET /v1/runs?limit=100 over such runs')
def same_run(t: Trial):
    a = t.service_a()
    me = t.me(a)
    runs = [me.plant_run(os.urandom(1024) * 2048) for _ in range(100)]
    with t.measured(a):

        def one(i):
            if i % 4 == 0:
                return me.cbor('POST', '/v1/runs/get', {'runIds': runs[:1] * 1000}, timeout=120)
            if i % 4 == 1:
                return me.cbor('POST', '/v1/runs/get', {'runIds': runs}, timeout=120)
            return me.call('GET', '/v1/runs?limit=100', accept='application/cbor' if i % 4 == 2 else 'application/json', timeout=120)

        answers = at_once(8, one)
    most = max(x.size for x in answers if x)
    t.saw(f'{statuses(answers)}, at most {most / MB:.1f} MB')
    t.expect(most <= 16 * MB, f'an answer of {most // MB} MB')
    pages, cursor, count = 0, '', 0
    while pages < 200:  # what is cut into pages is complete
        page = me.call('GET', f'/v1/runs?limit=100&resolveData=none{cursor}').json
        count, pages = count + len(page.get('data', [])), pages + 1
        if not page.get('hasMore'):
            break
        cursor = '&cursor=' + page['cursor']
    t.expect(count >= 100, f'the pages hold {count} runs of 100')


@row('5', 'sockets: 6 messages of 3 KB, each 64 x GET /v1/runs/{run of 4 MiB}, nobody reads; the same as POST /v1/calls')
def unread_bundles(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run(os.urandom(1024) * 4096)
    calls = [{'path': f'/v1/runs/{run}'}] * 64
    with t.measured(a, after=10):
        held = []
        for n in (1, 8):  # one socket as it was, then several
            for _ in range(n):
                with contextlib.suppress(OSError):
                    s = me.socket(small=True)
                    for i in range(6):
                        s.bundle(calls, b'%04d' % i)
                    held.append(s)
            time.sleep(2)
        for _ in range(16):
            with contextlib.suppress(OSError):
                held.append(me.unread('POST', '/v1/calls', encode({'calls': calls}), {'Accept': 'application/cbor'}))
    s = me.socket(timeout=60)
    s.bundle(calls[:2])
    got = s.receive()
    t.saw(f'a reader beside them got {len(got[1]) / MB:.1f} MB' if got else 'a reader beside them got nothing')
    for h in held:
        h.close()


def webhook(me, token, timeout=20, namespace=MINE):
    where = f'/ns/{namespace}' if namespace else ''
    return me.call('POST', f'{where}/.well-known/workflow/v1/webhook/{token}', b'{}', timeout=timeout)


@row('6', "an app registered at the service's own address (five spellings, and behind a relay), then one webhook call")
def own_address(t: Trial):
    a = t.service_a()
    me = t.me(a)
    me.plant_hook(me.plant_run(), 'loop')
    circle = relay.Relay(a.port)
    t.cleanup(circle.end)
    bases = [
        f'http://{host}:{a.port}/ns/{MINE}' for host in ('127.0.0.1', 'localhost', '127.1', '0x7f000001', '[::ffff:127.0.0.1]', '0.0.0.0')
    ]
    with t.measured(a):
        for base in bases + [f'http://127.0.0.1:{circle.port}/ns/{MINE}']:
            if t.facts.get('ended') or not a.alive:
                break
            app = {'baseUrl': base, 'deploymentId': 'dpl'}
            registered = me.call('POST', '/v1/apps', app)
            called = webhook(me, 'loop', 10)
            t.saw(
                f'{base.split("/ns")[0].replace(str(a.port), "OWN").replace(str(circle.port), "RELAY")}: {registered.brief}, webhook {called.brief}'
            )
            t.expect(called.status >= 400, f'{base}: a webhook call was answered {called.brief}')
            me.call('POST', '/v1/apps/unregister', app)
    t.saw(f'{circle.connections} connections through the relay')
    t.expect(t.facts['files'][2] < 400, f'{t.facts["files"][2]:,} open files')
    t.expect(circle.requests <= 50, f'{circle.requests} requests through the relay')


@row('7', "WORKFLOW_BASE_URL = the service's own address, and behind a relay; one message")
def own_base(t: Trial):
    for name in ('127.0.0.1', 'localhost', 'relay'):
        port = free_port()
        circle = relay.Relay(port) if name == 'relay' else None
        if circle:
            t.cleanup(circle.end)
        base = f'http://127.0.0.1:{circle.port}' if circle else f'http://{name}:{port}'
        try:
            b = t.service(port=port, WORKFLOW_BASE_URL=base)
        except RuntimeError as refusal:
            t.saw(f'{name}: the service does not start: {str(refusal).strip().splitlines()[-1][:160]}')
            continue
        caller = Caller(b.port)
        with t.measured(b, token=None, after=8):
            caller.call('POST', '/v1/queue', {'queueName': '__wkf_workflow_x', 'message': {'runId': 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'}})
        depths = caller.call('GET', '/v1/queue').json.get('data', [])
        messages = sum(d.get(k, 0) for d in depths for k in ('pending', 'active', 'scheduled', 'retry', 'stalled', 'dead', 'completed'))
        log = os.path.getsize(b.log)
        t.saw(
            f'{name}: {messages:,} messages seen, log {log / 1000:,.0f} kB'
            + (f', {circle.requests} requests through the relay' if circle else '')
        )
        t.expect(messages <= 50, f'{name}: {messages} messages')
        t.expect(log < 500_000, f'{name}: {log:,} bytes of log')
        t.expect(not circle or circle.requests <= 200, f'{name}: {circle and circle.requests} requests')
        commands = b.redis.info('stats')['total_commands_processed']
        t.saw(f'{int(commands):,} Redis commands')
        end(b.process)


REBINDING = [
    ('GET', '/v1/runs', None),
    ('GET', '/v1/apps', None),
    ('GET', '/v1/queue', None),
    ('GET', '/metrics', None),
    ('POST', '/v1/apps', {'baseUrl': 'http://127.0.0.1:1', 'deploymentId': 'evil'}),
    ('POST', '/v1/runs/cancel', {'runIds': ['RUN']}),
    ('POST', '/v1/queue/flows/pause', None),
    ('POST', '/v1/queue', {'queueName': '__wkf_workflow_x', 'message': {}}),
    ('POST', '/.well-known/workflow/v1/flow', {}),
]


@row('8', 'no token, loopback: Host and Origin of a page whose name resolves to this machine; Origins of other pages')
def rebinding(t: Trial):
    b = t.service_b()
    me = Tenant(b.port)
    run = me.plant_run(b'secret input')
    hosts = [
        f'evil.example:{b.port}',
        'evil.example',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        'localhost:80@evil.example',
        '169.254.7.7',
        '0.0.0.0',
        '',
        '[::ffff:7f00:1%25lo]',
    ]
    with t.measured(b, token=None):
        for host in hosts:
            for method, path, body in REBINDING + [('GET', f'/v1/runs/{run}', None)]:
                if body == {'runIds': ['RUN']}:
                    body = {'runIds': [run]}
                origin = {'Origin': f'http://{host}'} if host.startswith('evil') else {}
                a = me.call(method, path, body, headers={'Host': host, **origin})
                t.expect(a.status in (0, 400, 403, 404), f'Host {host!r}: {method} {path} is answered {a.brief}')
                t.expect(b'secret' not in a.body and b'c2Vjcm' not in a.body, f'Host {host!r}: {path} shows the input')
        for origin in ('http://evil.example', 'null', f'http://127.0.0.1:{b.port + 1}'):
            for method, path, body in REBINDING[4:]:
                a = me.call(method, path, body, headers={'Origin': origin}, kind='text/plain')
                t.expect(a.status in (400, 401, 403, 415), f'Origin {origin}: {method} {path} is answered {a.brief}')
            for host in ({}, {'Host': f'evil.example:{b.port}'}):
                s = me.socket({'Origin': origin, **host})
                t.expect(s.status not in (0, 101), f'Origin {origin} {host}: the socket is answered {s.status}')
                s.close()
    state = me.call('GET', f'/v1/runs/{run}').json
    t.expect(state.get('status') == 'pending', f'the run is {state.get("status")}')
    t.expect(not me.call('GET', '/v1/apps').json.get('data'), 'an app was registered')
    t.expect(not any(q['paused'] for q in me.call('GET', '/v1/queue').json['data']), 'a queue was paused')
    t.saw(f'{len(hosts)} hosts, 3 origins: the run is {state.get("status")}')


@row('9', 'apps registered at metadata addresses, link-local, the Redis port, port 99999, hexadecimal hosts; webhooks and Upgrade to them')
def addresses(t: Trial):
    a = t.service_a()
    me = t.me(a)
    me.plant_hook(me.plant_run(), 'hook')
    secret = relay.Listener(METADATA, 80, b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nmetadata-secret!') if t.own_network else None
    if secret:
        t.cleanup(secret.end)
    else:
        t.saw('metadata addresses were not tried: this process got no network of its own')
    tunnel = relay.Listener(['127.0.0.1'], 0, b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\ntunnelled')
    t.cleanup(tunnel.end)
    redis = a.redis.port
    meta = [f'http://{f"[{h}]" if ":" in h else h}' for h in METADATA] + [
        'http://[::ffff:169.254.169.254]',
        'http://0xa9fea9fe',
        'http://2852039166',
        'http://169.254.43518',
    ]
    others = [
        f'http://127.0.0.1:{redis}',
        f'http://localhost:{redis}',
        'http://127.0.0.1:99999',
        f'http://0x7f000001:{redis}',
        f'http://2130706433:{redis}',
        f'http://0177.0.0.1:{redis}',
    ]
    refused = 0
    with t.measured(a):
        for base in (meta if secret else []) + others:
            app = {'baseUrl': base, 'deploymentId': 'dpl'}
            registered = me.call('POST', '/v1/apps', app)
            refused += registered.status == 400
            called = webhook(me, 'hook')
            t.expect(b'secret' not in called.body, f'{base}: the webhook shows what stands there')
            t.expect(called.status in (400, 403, 404, 502, 503, 508), f'{base}: the webhook is answered {called.brief}')
            me.call('POST', '/v1/apps/unregister', app)
        time.sleep(2)  # for the check of the addresses
        me.call('POST', '/v1/apps', {'baseUrl': f'http://127.0.0.1:{tunnel.port}', 'deploymentId': 'dpl'})
        _, _, got = me.raw(me.head('GET', f'/ns/{MINE}/.well-known/workflow/v1/webhook/hook', {'Connection': 'Upgrade', 'Upgrade': 'x'}), 5)
        t.expect(b'tunnelled' not in got and b' 101 ' not in got[:20], 'a webhook tunnels an Upgrade')
    t.saw(f'{refused} of {len(others) + (len(meta) if secret else 0)} registrations refused')
    if secret:
        t.saw(f'{secret.connections} connections to metadata and link-local addresses')
        t.expect(secret.connections == 0, f'{secret.connections} connections to metadata and link-local addresses')
    t.expect(not a.redis.was_spoken_http_to(), 'the service spoke HTTP to Redis')
    log = open(a.log, 'rb').read()
    t.expect(b'secret' not in log, 'the log shows what stands there')


def bignum(size, tag=2):
    return tagged(tag, start_of(2, size) + b'\xf3' * size)


@row('10', 'CBOR bignums (tags 2 and 3) of 100 KB to 16 MB: listed as JSON, and read by the client')
def bignums(t: Trial):
    a = t.service_a()
    me = t.me(a)
    small = [me.plant_run(bignum(100_000)), me.plant_run([1, bignum(100_000, 3)]), me.plant_run('plain')]
    told, lag = node_client(a.port, MY_TOKEN, small)
    t.saw(f'the client: {told}, its event loop stood for {lag} ms')
    t.expect(lag is not None and lag < 1_000, f'the client\'s event loop stood for {lag} ms ({told})')
    big = [me.plant_run(bignum(size)) for size in (1 * MB, 4 * MB, 16 * MB)]
    with t.measured(a) as watch:
        answers = [me.call('GET', f'/v1/runs/{run}', timeout=60) for run in big]
        cpu = watch.cpu
    t.saw(f'JSON: {statuses(answers)}, {cpu:.1f} CPU s')
    t.expect(all(x.status == 200 for x in answers), f'JSON: {statuses(answers)}')
    t.expect(cpu < 6, f'{cpu:.1f} CPU s for three reads')


@row('11', 'stored values whose tag does not fit (c1 61 61; d8 56 43 01 02 03 and others): listed as JSON, and by the client')
def odd_tags(t: Trial):
    a = t.service_a()
    me = t.me(a)
    odd = [
        'c16161',
        'd856430102 03',
        'c0f6',
        'c141ff',
        'd84041',
        'c48201c16161',
        'c5820161 61',
        'd9010261 61',
        'd82000',
        'd81c6161',
        'd81d1903e8',
        'd8ff6161',
        'd9dff76161',
        'f0',
        'f8ff',
        'fb7ff8000000000001',
        'd86941 00',
        'd9010a8163616263',
        'c1fb7ff0000000000000',
        '1bffffffffffffffff',
        '3bffffffffffffffff',
        'a1f6f6',
        'a1816161 01',
        'a2616101616102',
        'd9e0006161',
        '5f41014102ff',
        '9f01ff',
        'bf616101ff',
    ]
    runs = [me.plant_run('plain first')]
    for item in odd:
        with contextlib.suppress(RuntimeError):  # refused when it is written: good as well
            runs.append(me.plant_run(Raw(bytes.fromhex(item.replace(' ', '')))))
    runs.append(me.plant_run('plain last'))
    with t.measured(a):
        page = me.call('GET', '/v1/runs?limit=100')
        listed = {r['runId'] for r in page.json.get('data', [])}
        t.expect(page.status == 200 and set(runs) <= listed, f'JSON lists {len(listed & set(runs))} of {len(runs)}: {page.brief}')
        for run in runs:
            one = me.call('GET', f'/v1/runs/{run}')
            t.expect(one.status == 200, f'GET of a run is answered {one.brief}')
        told, _ = node_client(a.port, MY_TOKEN, runs)
    t.saw(f'{len(runs)} stored, JSON lists {len(listed & set(runs))}, the client: {told}')
    t.expect(told.startswith(f'listed {len(runs)} of {len(runs)}') and f'got {len(runs)} of {len(runs)}' in told, f'the client: {told}')


@row('12', '$retention=0 on a run with 40,000 events, and the end of a run with 20,000 hooks')
def ends(t: Trial):
    a = t.service_a()
    me = t.me(a)
    many = me.plant_run(b'first secret', {'$retention': '0'})
    for i in range(0, 20_000, 128):
        events = []
        for n in range(i, min(i + 128, 20_000)):
            events.append(
                {
                    'event': {
                        'eventType': 'step_created',
                        'specVersion': 4,
                        'correlationId': f'step_{n}',
                        'eventData': {'stepName': 's', 'input': b'secret'},
                    }
                }
            )
        a1 = me.cbor('POST', f'/v1/runs/{many}/events/batch', {'events': events})
        events = [
            {
                'event': {
                    'eventType': 'step_failed',
                    'specVersion': 4,
                    'correlationId': e['event']['correlationId'],
                    'eventData': {'error': b'secret'},
                }
            }
            for e in events
        ]
        a2 = me.cbor('POST', f'/v1/runs/{many}/events/batch', {'events': events})
        if a1.status != 200 or a2.status != 200:
            raise RuntimeError(f'a batch was refused: {a1.brief} {a2.brief} {a2.body[:300]}')
    hooks = me.plant_run()

    def plant(i):
        for n in range(i * 5_000, (i + 1) * 5_000, 64):
            calls = [
                {
                    'path': f'/v1/runs/{hooks}/events',
                    'body': encode(
                        {
                            'event': {
                                'eventType': 'hook_created',
                                'specVersion': 4,
                                'correlationId': f'hook_{k}',
                                'eventData': {'token': f'token {k}'},
                            }
                        }
                    ),
                }
                for k in range(n, min(n + 64, (i + 1) * 5_000))
            ]
            answer = me.cbor('POST', '/v1/calls', {'calls': calls})
            assert answer.status == 200, answer.body[:300]

    at_once(4, plant)
    if b'c2Vjcm' not in me.call('GET', f'/v1/runs/{many}/steps?limit=10').body:
        raise RuntimeError('the payloads cannot be seen before the end either')
    found = me.call('GET', '/v1/hooks/by-token?token=token%2019999')
    if found.status != 200:
        raise RuntimeError('the hooks were not planted')
    a.redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', 5000)
    a.redis.command('CONFIG', 'SET', 'slowlog-max-len', 1000)
    for name, run, attack in (('20,000 hooks', hooks, 'hooks'), ('40,000 events', many, 'events')):
        a.redis.command('SLOWLOG', 'RESET')
        scripts = a.redis.watch_scripts()
        with t.measured(a, after=5):
            ended = me.event(run, 'run_cancelled')
            if attack == 'events':
                after = [
                    me.call('GET', f'/v1/runs/{run}/{what}?limit=1000&sortOrder={order}')
                    for what in ('events', 'steps')
                    for order in ('asc', 'desc')
                ] + [me.call('GET', f'/v1/runs/{run}')]
                t.expect(not any(b'c2Vjcm' in x.body or b'ZWNyZX' in x.body for x in after), f'{name}: a payload is readable after the end')
            else:
                claim = me.plant_hook(me.plant_run(), 'token 19999', 'hook_x')
                t.expect(
                    claim.status // 100 == 2 and b'hook_conflict' not in claim.body,
                    f'{name}: a token is not claimable after the end: {claim.brief}',
                )
                t.expect(me.call('GET', '/v1/hooks/by-token?token=token%2010000').status == 404, f'{name}: a hook is there after the end')
            t.expect(ended.status // 100 == 2, f'{name}: the end was answered {ended.brief}')
        scripts.end()
        slow = [entry[2] / 1000 for entry in a.redis.command('SLOWLOG', 'GET', 1000)]
        slowest = max(slow, default=0)
        t.saw(f'{name}: a script makes up to {scripts.calls:,} calls and frees {scripts.frees:,} fields, {slowest:.0f} ms')
        t.expect(scripts.calls <= 2_100, f'{name}: a script makes {scripts.calls:,} calls')
        t.expect(scripts.frees <= 2_100, f'{name}: a script frees {scripts.frees:,} fields')
        t.expect(slowest < 2_000, f'{name}: a script takes {slowest:.0f} ms')


@row('13', "an answer of 0 to 5 bytes on a call socket of the client")
def short_answers(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run = me.plant_run('value')
    with t.measured(a):
        for size in range(6):
            bad = relay.Relay(a.port, after_upgrade=b'\x82' + bytes([size]) + b'x' * size)
            told, _ = node_client(bad.port, MY_TOKEN, [run] * 12, 'one by one')
            t.expect(bad.upgrades > 0, 'the client opened no socket')
            t.expect(told.startswith('got 12 of 12'), f'{size} bytes: {told}')
            bad.end()
    t.saw(f'6 sizes: {told}')


@row('14', 'no token: /metrics and the other open routes of a service on a public address')
def open_metrics(t: Trial):
    a = t.service_a(host='0.0.0.0')
    plain = t.service(host='0.0.0.0', WORKFLOW_WORLD_NAMESPACES=f'{MINE}={MY_TOKEN},{THEIRS}=another-another-token')
    with t.measured(a):
        for service, name in ((a, 'with WORKFLOW_WORLD_METRICS_TOKEN'), (plain, 'without it')):
            for path in ('/metrics', '/healthz', '/readyz', '/openapi.json', '/', '/metrics/', '//metrics', '/%6detrics', '/debug/pprof/'):
                answer = Caller(service.port).call('GET', path, accept='*/*')
                names = [n for n in (MINE, THEIRS) if n.encode() in answer.body]
                t.expect(not names, f'{name}: {path} names {" and ".join(names)}')
                t.expect(
                    path != '/metrics' or answer.status in (401, 403, 404) or b'queue' not in answer.body,
                    f'{name}: /metrics shows the depths of queues',
                )
        own = metrics(a)
    t.saw(f'with its token /metrics is answered {own.brief}')
    t.expect(own.status == 200, f'with its token /metrics is answered {own.brief}')


@row('15', 'maps of 1,000,000 keys in 6 MB, 12 at once, in each place that takes one')
def wide_maps(t: Trial):
    a = t.service_a()
    me = t.me(a)
    run, wide = me.plant_run(), wide_map(1_000_000)
    bodies = [
        ('/v1/runs/get', wide),
        (f'/v1/runs/{run}/events', {'event': wide}),
        ('/v1/queue', {'queueName': '__wkf_workflow_x', 'message': wide}),
        (
            f'/v1/runs/{run}/events',
            {'event': {'eventType': 'attr_set', 'specVersion': 4, 'eventData': {'changes': [wide], 'writer': wide}}},
        ),
        ('/v1/apps', wide),
        ('/v1/calls', {'calls': [wide]}),
    ]
    with t.measured(a, after=3):
        answers = at_once(12, lambda i: me.cbor('POST', *bodies[i % len(bodies)], timeout=60))
        t.saw(f'maps: {statuses(answers)}')


@row('15b', '100 socket messages of 4 MiB half sent')
def half_messages(t: Trial):
    a = t.service_a()
    me = t.me(a)
    with t.measured(a, after=3):
        held = []

        def half(_):
            with contextlib.suppress(OSError):
                s = me.socket(timeout=5)
                held.append(s)
                s.send(b'aaaa' + b'\0' * (3 * MB), announced=4 * MB)

        at_once(100, half)
        time.sleep(3)
        t.saw(f'{len(held)} half messages')
    for s in held:
        s.close()


@row('15c', '654 registrations of apps: what each reads')
def registrations(t: Trial):
    a = t.service_a()
    me = t.me(a)
    costs, stats = [], lambda: int(a.redis.info('stats')['total_net_output_bytes'])
    for i in range(654):
        if i in (0, 50, 604):
            costs.append((i, stats()))
        me.call('POST', '/v1/apps', {'baseUrl': f'http://127.0.0.1:{1 + i}', 'deploymentId': 'dpl', 'leaseSeconds': 60})
    costs.append((654, stats()))
    first, last = (costs[1][1] - costs[0][1]) / 50, (costs[3][1] - costs[2][1]) / 50
    t.saw(f'Redis sends {first:,.0f} bytes for each of the first 50 registrations and {last:,.0f} for each of the last')
    t.expect(last < 5 * first + 2_000, f'a registration beside 600 others reads {last:,.0f} bytes')


@row('16', 'the embedded Redis on its loopback port: PING, KEYS, AUTH with guesses')
def embedded_redis(t: Trial):
    s = t.service(embedded=True, WORKFLOW_WORLD_TOKEN=MY_TOKEN)
    ports = [p for p in listening(s.pid) if p != s.port]
    t.expect(ports, 'its port was not found')
    with t.measured(s, token=MY_TOKEN):
        for port in ports:
            for line in (
                'PING',
                'KEYS *',
                'AUTH redis',
                'AUTH default x',
                'HELLO 3',
                'INFO',
                "EVAL 'return 1' 0",
                'CLIENT LIST',
                f'AUTH {MY_TOKEN}',
            ):
                _, _, got = Caller(port).raw(redis_command(*shlex.split(line)) + redis_command('KEYS', '*'), 0.4)
                # HELLO may say which program this is; what comes after it is refused all the same.
                t.expect(
                    b'workflow' not in got and got.splitlines()[-1:] and got.splitlines()[-1].startswith(b'-NOAUTH'),
                    f'{line} and KEYS are answered {got[:60]!r}',
                )
    t.saw(f'{len(ports)} port, 9 commands refused')


def listening(pid):
    """The TCP ports that a process listens on."""
    inodes = set()
    for fd in os.listdir(f'/proc/{pid}/fd'):
        with contextlib.suppress(OSError):
            inodes |= set(re.findall(r'socket:\[(\d+)\]', os.readlink(f'/proc/{pid}/fd/{fd}')))
    out = set()
    for table in ('tcp', 'tcp6'):
        with contextlib.suppress(OSError):
            for line in open(f'/proc/{pid}/net/{table}').readlines()[1:]:
                fields = line.split()
                if fields[3] == '0A' and fields[9] in inodes:
                    out.add(int(fields[1].rpartition(':')[2], 16))
    return sorted(out)


def command(args, env, seconds=10):
    """Runs the binary for at most so long; returns its exit code (None: it went on) and what it printed."""
    process = spawn([BINARY[0], *args], env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        return process.wait(seconds), process.stdout.read().decode(errors='replace')
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.stdout.read().decode(errors='replace')
    finally:
        end(process)


@row('17', 'tokens of 1 and 15 characters on 0.0.0.0, no token there, tokens of namespaces')
def short_tokens(t: Trial):
    tries = [
        {'WORKFLOW_WORLD_TOKEN': 'x'},
        {'WORKFLOW_WORLD_TOKEN': 'x' * 15},
        {},
        {'WORKFLOW_WORLD_TOKEN': 'x' * 16 + ',y'},
        {'WORKFLOW_WORLD_NAMESPACES': 'a=short'},
        {'WORKFLOW_WORLD_NAMESPACES': 'a=' + 'x' * 16 + '|y'},
    ]
    for env in tries:
        for host in ('0.0.0.0', '[::]', ''):
            code, out = command(['serve'], {'WORKFLOW_WORLD_LISTEN': f'{host}:{free_port()}', **env}, 3)
            t.expect(code not in (None, 0), f'{env} on {host!r} is taken')
    t.saw(f'{3 * len(tries)} refused; the last one: {out.strip().splitlines()[-1][:120] if out.strip() else out!r}')


@row(
    '18',
    'secrets in errors and in env: sentinel_password and the like in the Redis URL, credentials in WORKFLOW_BASE_URL and WORKFLOW_WORLD_PROXY',
)
def secrets(t: Trial):
    dead = f'127.0.0.1:{free_port()}'
    urls = [
        f'redis+sentinel://me:hunter2@{dead}/?master=m&sentinel_password=hunter3',
        f'redis://:hunter2@{dead}',
        f'redis+cluster://me:hunter2@{dead}?addr={dead}',
        f'rediss://me:hunter2@{dead}?password=hunter3&bad=x',
        f'redis://me:hunter2@{dead}/notanumber',
        'redis://me:hunter2%zz@x',
        f'unix://me:hunter2@/nowhere.sock?password=hunter3',
        f'redis+sentinel://{dead}/?password=hunter3',
        f'http://me:hunter2@{dead}',
    ]
    others = {
        'WORKFLOW_BASE_URL': f'http://me:hunter2@{dead}/base',
        'WORKFLOW_WORLD_PROXY': f'http://me:hunter2@{dead}',
        'WORKFLOW_WORLD_SIGNING_KEY': 'hunter2',
        'WORKFLOW_WORLD_TOKEN': 'hunter2-hunter2-hunter2',
        'WORKFLOW_WORLD_NAMESPACES': 'n=hunter2-hunter2-hunter3',
        'WORKFLOW_WORLD_METRICS_TOKEN': 'hunter2-hunter2-hunter4',
    }
    shown = 0
    for url in urls:
        env = {
            **others,
            'WORKFLOW_REDIS_URL': url,
            'WORKFLOW_WORLD_LISTEN': f'127.0.0.1:{free_port()}',
            'WORKFLOW_WORLD_LOG_LEVEL': 'debug',
        }
        for args in (['env'], ['setup'], ['serve']):
            _, out = command(args, env, 3)
            shown += len(out)
            for line in out.splitlines():
                t.expect('hunter' not in line, f'{" ".join(args)} with {url.split(":")[0]} prints {line[:160]}')
    for bad in ('http://me:hunter2@ho st', 'hunter2:hunter3', 'http://me:hun%ter2@x:y'):
        for name in ('WORKFLOW_BASE_URL', 'WORKFLOW_WORLD_PROXY'):
            _, out = command(['env'], {name: bad}, 5)
            _, out2 = command(['serve'], {name: bad, 'WORKFLOW_WORLD_LISTEN': f'127.0.0.1:{free_port()}'}, 2)
            shown += len(out) + len(out2)
            t.expect(
                'hunter2' not in out + out2 or 'hunter2:' in bad,
                f'{name}={bad} is printed: {[l for l in (out + out2).splitlines() if "hunter2" in l][:1]}',
            )
    code, out = command(['serve'], {'WORKFLOW_BASE_URL': others['WORKFLOW_BASE_URL'], 'WORKFLOW_WORLD_LISTEN': f'127.0.0.1:{free_port()}'}, 5)
    t.expect(code not in (None, 0) and 'hunter' not in out, f'serve with credentials in WORKFLOW_BASE_URL: {code}, {out[:160]}')
    s = t.service(embedded=True, WORKFLOW_WORLD_LOG_LEVEL='debug', WORKFLOW_BASE_URL=f'http://{dead}/base')
    Caller(s.port).call('POST', '/v1/queue', {'queueName': '__wkf_workflow_x', 'message': {'runId': 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'}})
    Caller(s.port).call('POST', '/v1/apps', {'baseUrl': f'http://me:hunter2@{dead}', 'deploymentId': 'dpl'})
    time.sleep(3)
    log = open(s.log, errors='replace').read()
    shown += len(log)
    t.expect(dead in log, 'the log does not name the app that cannot be reached')
    t.expect('hunter' not in log, f'the log has {[line for line in log.splitlines() if "hunter" in line][:1]}')
    t.saw(f'{shown / 1000:.0f} kB of output looked through')
