"""The machines of an attack: Redis, the service, callers of another namespace, and what is measured of them."""
import atexit
import contextlib
import ctypes
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from .wire import Caller

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MB = 1 << 20
BINARY = [os.path.join(ROOT, 'bin/world-redis')]  # the service, which --binary changes
# What must hold.
SERVICE_MOST = 512 * MB
REDIS_GROWS_MOST = 64 * MB
# Where a row that fails is ended, so that the machine survives it.
SERVICE_KILL = 1536 * MB
REDIS_KILL = 3072 * MB
FILES_KILL = 8_000
# The namespaces of service A: the attacker's and the others'. Their names must not get out.
MINE, THEIRS = 'shopping', 'blogging'
MY_TOKEN, THEIR_TOKEN, METRICS_TOKEN = 'attacker-attacker-1', 'neighbour-neighbour-1', 'metrics-metrics-metrics-1'

libc = ctypes.CDLL(None, use_errno=True)
running = set()


def end_all():
    for process in list(running):
        end(process)


atexit.register(end_all)


def spawn(args, env=None, files=20_000, **more):
    """Starts a process that ends with this one, whatever happens to it."""

    def prepare():
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    clean = {k: v for k, v in os.environ.items() if not re.match('WORKFLOW_|REDIS_|HTTPS?_PROXY|NO_PROXY|PORT$|HOST$', k, re.I)}
    process = subprocess.Popen(args, env={**clean, **(env or {})}, preexec_fn=prepare, start_new_session=True, **more)
    running.add(process)
    return process


def end(process):
    """Ends a process and what it started: each has a group of its own."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    running.discard(process)


def own_network():
    """
    Moves this process into a network of its own, with loopback and the addresses at which clouds have their metadata:
    so nothing that is tried can reach anything else. Returns whether that worked.
    """
    new_network, new_user = 0x40000000, 0x10000000
    user, group = os.getuid(), os.getgid()
    if libc.unshare(new_network if user == 0 else new_network | new_user) != 0 and libc.unshare(new_network | new_user) != 0:
        return False
    if user != 0:
        with contextlib.suppress(OSError):
            open('/proc/self/setgroups', 'w').write('deny')
            open('/proc/self/uid_map', 'w').write(f'0 {user} 1')
            open('/proc/self/gid_map', 'w').write(f'0 {group} 1')
    get_flags, set_flags, set_address = 0x8913, 0x8914, 0x8916
    try:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        flags = struct.unpack('16sh', fcntl.ioctl(s, get_flags, struct.pack('16sh', b'lo', 0)))[1]
        fcntl.ioctl(s, set_flags, struct.pack('16sh', b'lo', flags | 1))
        for i, address in enumerate(METADATA[:3]):
            fcntl.ioctl(s, set_address, struct.pack('16sHH4s8x', f'lo:{i + 1}'.encode(), socket.AF_INET, 0, socket.inet_aton(address)))
    except OSError:
        return False
    with contextlib.suppress(OSError):  # without IPv6 there is nothing to protect there
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        fcntl.ioctl(s, set_address, struct.pack('16sIi', socket.inet_pton(socket.AF_INET6, METADATA[3]), 128, socket.if_nametoindex('lo')))
    return True


METADATA = ['169.254.169.254', '169.254.170.2', '169.254.7.7', 'fd00:ec2::254']


def free_port():
    """A port that nobody listens on, below those of outgoing connections."""
    while True:
        port = random.randint(15_000, 32_000)
        with contextlib.closing(socket.socket()) as s, contextlib.suppress(OSError):
            s.bind(('127.0.0.1', port))
            return port


def rss(pid):
    try:
        return int(open(f'/proc/{pid}/statm').read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


def peak_rss(pid):
    try:
        return int(re.search(r'VmHWM:\s+(\d+)', open(f'/proc/{pid}/status').read())[1]) * 1024
    except (OSError, TypeError):
        return 0


def forget_peak(pid):
    with contextlib.suppress(OSError):
        open(f'/proc/{pid}/clear_refs', 'w').write('5')


def open_files(pid):
    try:
        return len(os.listdir(f'/proc/{pid}/fd'))
    except OSError:
        return 0


def cpu_seconds(pid):
    try:
        fields = open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    except (OSError, IndexError):
        return 0.0


class Redis:
    """A redis-server of its own, without files."""

    def __init__(self, folder):
        self.port = free_port()
        self._log = os.path.join(folder, f'redis-{self.port}.log')
        self.process = spawn(
            [
                'redis-server',
                '--port',
                str(self.port),
                '--bind',
                '127.0.0.1',
                '--save',
                '',
                '--appendonly',
                'no',
                '--dir',
                folder,
                '--daemonize',
                'no',
            ],
            stdin=subprocess.DEVNULL,
            stdout=open(self._log, 'wb'),
            stderr=subprocess.STDOUT,
        )
        self._conn, self._lock = None, threading.Lock()
        for _ in range(300):
            with contextlib.suppress(OSError):
                self.command('PING')
                return
            time.sleep(0.02)
        raise RuntimeError('redis-server does not answer')

    def command(self, *args, timeout=60):
        with self._lock:
            if self._conn is None:
                self._conn = socket.create_connection(('127.0.0.1', self.port), timeout=timeout).makefile('rwb')
            try:
                self._conn.write(redis_command(*args))
                self._conn.flush()
                return redis_reply(self._conn)
            except (OSError, ValueError):
                self._conn = None
                raise ConnectionError('Redis does not answer') from None

    def info(self, section='memory'):
        text = self.command('INFO', section).decode()
        return dict(line.split(':', 1) for line in text.split('\r\n') if ':' in line)

    def used(self):
        """Bytes in use, and the most that ever were."""
        info = self.info()
        return int(info['used_memory']), int(info['used_memory_peak'])

    def was_spoken_http_to(self):
        """Redis hangs up on what begins as HTTP does, and logs it."""
        return b'SECURITY ATTACK' in open(self._log, 'rb').read()

    def watch_scripts(self):
        return ScriptWatch(self.port)


def redis_command(*args):
    parts = [str(a).encode() if not isinstance(a, bytes) else a for a in args]
    return b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(p), p) for p in parts)


def redis_reply(f):
    line = f.readline()
    if not line:
        raise ConnectionError('Redis hung up')
    kind, rest = line[:1], line[1:-2]
    if kind == b'$':
        return None if rest == b'-1' else f.read(int(rest) + 2)[:-2]
    if kind == b'*':
        return [redis_reply(f) for _ in range(int(rest))]
    return int(rest) if kind == b':' else rest.decode() if kind == b'+' else rest


class ScriptWatch:
    """Counts what each script does, by Redis's MONITOR: how many commands, and how many fields one command frees."""

    FREES = {b'hdel', b'zrem', b'srem', b'lrem', b'unlink', b'del'}

    def __init__(self, port):
        self.calls, self.frees, self._now, self._freed = 0, 0, 0, 0
        self._sock = socket.create_connection(('127.0.0.1', port))
        self._sock.sendall(redis_command('MONITOR'))
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with contextlib.suppress(OSError):
            for line in self._sock.makefile('rb'):
                if b' lua] "' in line[:40]:
                    words = line.split(b'] "', 1)[1]
                    name = words.split(b'"', 1)[0].lower()
                    self._now += 1
                    if name in self.FREES:
                        self._freed += words.count(b'" "') - (1 if name[:1] in b'hzsl' else 0)
                else:
                    self._now = self._freed = 0
                self.calls, self.frees = max(self.calls, self._now), max(self.frees, self._freed)

    def end(self):
        time.sleep(0.5)
        self._sock.close()


class Service:
    """The built binary with settings of its own."""

    def __init__(self, folder, redis=None, env=None, files=20_000, host='127.0.0.1', port=None):
        self.port, self.redis = port or free_port(), redis
        self.log = os.path.join(folder, f'service-{self.port}.log')
        self.process = spawn(
            [BINARY[0], 'serve'],
            files=files,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(self.log, 'wb'),
            env={
                'WORKFLOW_WORLD_LISTEN': f'{host}:{self.port}',
                **({'WORKFLOW_REDIS_URL': f'redis://127.0.0.1:{redis.port}'} if redis else {}),
                **(env or {}),
            },
        )
        self.pid = self.process.pid
        caller = Caller(self.port)
        for _ in range(500):
            if caller.call('GET', '/readyz', timeout=2).status == 200:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError('the service does not come up:\n' + self.tail())

    @property
    def alive(self):
        return self.process.poll() is None

    def tail(self, size=2_000):
        try:
            return open(self.log, 'rb').read()[-size:].decode(errors='replace')
        except OSError:
            return ''


class Tenant(Caller):
    """A caller with the means to plant things."""

    def plant_run(self, given=b'', attributes=None, name='workflow'):
        data = {'deploymentId': 'dpl', 'workflowName': name, 'input': given}
        if attributes:
            data.update(attributes=attributes, allowReservedAttributes=True)
        a = self.cbor('POST', '/v1/events', {'event': {'eventType': 'run_created', 'specVersion': 4, 'eventData': data}})
        found = re.search(rb'wrun_\w{26}', a.body)
        if a.status // 100 != 2 or not found:
            raise RuntimeError(f'a run was refused: {a.brief} {a.body[:300]}')
        return found[0].decode()

    def event(self, run, kind, correlation=None, **data):
        event = {'eventType': kind, 'specVersion': 4}
        if correlation:
            event['correlationId'] = correlation
        if data:
            event['eventData'] = data
        return self.cbor('POST', f'/v1/runs/{run}/events', {'event': event})

    def plant_hook(self, run, token, name='hook_1'):
        return self.event(run, 'hook_created', name, token=token)

    def chunk(self, run, data, stream='s'):
        return self.call('POST', f'/v1/runs/{run}/streams/{stream}', data, kind='application/octet-stream')


class Trial:
    """One row while it is tried."""

    def __init__(self, folder, others=32):
        self.folder, self.count = folder, others
        self.own_network = False
        self.failures, self.seen, self.facts = [], [], {}
        self._exit = contextlib.ExitStack()

    def end(self):
        self._exit.close()

    # What is there.

    def service_a(self, host='127.0.0.1', files=20_000, **env):
        """Tokens and two namespaces, on a Redis of its own."""
        tokens = f'{MINE}={MY_TOKEN},{THEIRS}={THEIR_TOKEN}'
        return self.service(host=host, files=files, WORKFLOW_WORLD_NAMESPACES=tokens, WORKFLOW_WORLD_METRICS_TOKEN=METRICS_TOKEN, **env)

    def service_b(self, **env):
        """No token, on loopback."""
        return self.service(**env)

    def service_b_at(self, port):
        return self.service(port=port)

    def service(self, host='127.0.0.1', files=20_000, port=None, embedded=False, **env):
        redis = None
        if not embedded:
            redis = Redis(self.folder)
            self._exit.callback(end, redis.process)
        service = Service(self.folder, redis, env, files, host, port)
        self._exit.callback(end, service.process)
        return service

    def cleanup(self, call, *args):
        self._exit.callback(call, *args)

    def me(self, service):
        return Tenant(service.port, MY_TOKEN)

    # What is found.

    def expect(self, holds, otherwise):
        if not holds:
            self.failures.append(otherwise)
        return holds

    def saw(self, text):
        self.seen.append(text)

    @contextlib.contextmanager
    def measured(self, service, token=THEIR_TOKEN, others=True, after=1.0):
        """Measures the service while the body runs; callers of the other namespace go on all the time."""
        watch = Watch(service)
        neighbours = Neighbours(service.port, token, self.count) if others else None
        try:
            yield watch
            time.sleep(after)
        finally:
            calls = neighbours.end() if neighbours else None
            watch.end()
            self._judge(service, watch, calls)

    def _judge(self, service, watch, calls):
        self.facts.update(watch.facts)
        self.expect(not watch.killed, watch.killed)
        self.expect(service.alive or watch.killed, f'the service has ended: {service.tail(300)}')
        self.expect(watch.peak < SERVICE_MOST, f'the service took {watch.peak // MB} MB')
        if service.redis:
            self.expect(watch.redis_grew <= REDIS_GROWS_MOST, f'Redis grew by {watch.redis_grew // MB} MB')
        if calls:
            self.facts['others'] = calls
            self.expect(
                calls['failed'] == 0 and calls['callers'] == self.count,
                f'{calls["failed"]} calls of others failed ({calls["why"]}), {calls["callers"]} of {self.count} callers went on',
            )


class Watch:
    """Looks at the service and its Redis a few times in each tenth of a second, and ends them before the machine suffers."""

    def __init__(self, service):
        self.service, self.killed = service, ''
        forget_peak(service.pid)
        self.before, self.files_before = rss(service.pid), open_files(service.pid)
        self.peak, self.files = self.before, self.files_before
        self.used_before, self._most_before = service.redis.used() if service.redis else (0, 0)
        self.redis_most = self.used_before
        self._cpu, self._start = cpu_seconds(service.pid), time.monotonic()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._memory, daemon=True), threading.Thread(target=self._redis, daemon=True)]
        for thread in self._threads:
            thread.start()

    def _memory(self):
        pid = self.service.pid
        while not self._stop.wait(0.02):
            now, files = rss(pid), open_files(pid)
            self.peak, self.files = max(self.peak, now, peak_rss(pid)), max(self.files, files)
            if now > SERVICE_KILL or files > FILES_KILL:
                self.killed = f'the service was ended at {now // MB} MB and {files:,} open files'
                self.service.process.kill()
                return

    def _redis(self):
        while self.service.redis and not self._stop.wait(0.1):
            with contextlib.suppress(ConnectionError):
                used, most = self.service.redis.used()
                self._note(used, most)
                if used > REDIS_KILL:
                    self.killed = f'Redis was ended at {used // MB} MB'
                    self.service.redis.process.kill()
                    return

    def _note(self, used, most):
        self.redis_most = max(self.redis_most, used, most if most > self._most_before else 0)

    @property
    def cpu(self):
        return max(0.0, cpu_seconds(self.service.pid) - self._cpu)

    @property
    def redis_grew(self):
        return self.redis_most - self.used_before

    def end(self):
        self.peak = max(self.peak, peak_rss(self.service.pid))
        after, files_after, cpu = rss(self.service.pid), open_files(self.service.pid), self.cpu
        self._stop.set()
        for thread in self._threads:
            thread.join(15)
        if self.service.redis:
            with contextlib.suppress(ConnectionError):
                self._note(*self.service.redis.used())
        self.facts = {
            'rss': (self.before, after, self.peak),
            'redis': self.redis_grew if self.service.redis else None,
            'files': (self.files_before, files_after, self.files),
            'cpu': cpu,
            'took': time.monotonic() - self._start,
        }


class Neighbours:
    """Callers of another namespace, in a process of their own, from before the attack until after it."""

    def __init__(self, port, token, count):
        self._child = spawn(
            [sys.executable, '-B', '-S', '-m', 'attacks.neighbours', str(port), token or '', str(count)],
            cwd=os.path.join(ROOT, 'scripts'),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._child.stdout.readline() != 'ready\n':
            raise RuntimeError('the callers of the other namespace cannot call')

    def end(self):
        try:
            out, _ = self._child.communicate('\n', timeout=90)
            return json.loads(out)
        except (subprocess.TimeoutExpired, ValueError):
            return {'calls': 0, 'failed': 1, 'callers': 0, 'why': 'they did not come back', 'p99': 0, 'waited': 0}
        finally:
            end(self._child)


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix='world-redis-attack-')
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
