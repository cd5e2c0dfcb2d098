"""What an attacker sends: HTTP by hand, CBOR and WebSockets, without a library that would be too polite."""
import base64
import contextlib
import http.client
import json
import os
import socket
import struct
import time

KEPT = 1 << 20  # bytes of an answer that are kept; the rest is counted


class Answer:
    """One answer of the service; status 0 means that there was none."""

    def __init__(self, status, headers=None, body=b'', size=0, took=0.0, error=''):
        self.status, self.headers, self.body, self.size, self.took, self.error = status, headers or {}, body, size, took, error

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    @property
    def brief(self):
        return str(self.status) if self.status else f'no answer ({self.error})'


class Caller:
    """Calls one service with one token, each time on a connection of its own."""

    def __init__(self, port, token=None, host='127.0.0.1'):
        self.port, self.token, self.host = port, token, host

    def call(self, method, path, body=None, kind='application/json', accept='application/json', timeout=60, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        head = {'Accept': accept, **self.auth}
        if body is not None:
            head['Content-Type'] = kind
        head.update(headers or {})
        start = time.monotonic()
        conn = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            conn.request(method, path, body=body, headers=head)
            response = conn.getresponse()
            kept, size = b'', 0
            while data := response.read(1 << 16):
                size += len(data)
                if len(kept) < KEPT:
                    kept += data
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, kept, size, time.monotonic() - start)
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, took=time.monotonic() - start, error=type(error).__name__)
        finally:
            conn.close()

    def cbor(self, method, path, body, **more):
        return self.call(method, path, encode(body), kind='application/cbor', accept='application/cbor', **more)

    @property
    def auth(self):
        return {'Authorization': f'Bearer {self.token}'} if self.token else {}

    def head(self, method, path, headers=None):
        """The beginning of a request, as bytes."""
        lines = [f'{method} {path} HTTP/1.1', f'Host: {self.host}:{self.port}']
        lines += [f'{k}: {v}' for k, v in {**self.auth, **(headers or {})}.items()]
        return ('\r\n'.join(lines) + '\r\n\r\n').encode()

    def connect(self, timeout=10.0, small=False):
        """A connection; a small one takes little of an answer into its buffers."""
        s = socket.socket()
        if small:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(timeout)
        s.connect((self.host, self.port))
        return s

    def unread(self, method, path, body=None, headers=None):
        """Sends a whole request and reads nothing of its answer."""
        s = self.connect(small=True)
        extra = {} if body is None else {'Content-Length': len(body), 'Content-Type': 'application/cbor'}
        s.sendall(self.head(method, path, {**extra, **(headers or {})}) + (body or b''))
        return s

    def raw(self, data, timeout=10.0):
        """Sends bytes; returns (status, whether the connection was closed, the first bytes)."""
        with contextlib.closing(self.connect(timeout)) as s:
            got, closed = b'', False
            try:
                s.sendall(data)
            except OSError:
                pass  # an answer may have come before the end
            end = time.monotonic() + timeout
            while time.monotonic() < end and len(got) < KEPT:
                s.settimeout(max(0.01, end - time.monotonic()))
                try:
                    part = s.recv(1 << 16)
                except TimeoutError:
                    break
                except OSError:
                    closed = True
                    break
                if not part:
                    closed = True
                    break
                got += part
            return status_of(got), closed, got

    def socket(self, headers=None, timeout=10.0, small=False):
        return CallSocket(self, headers, timeout, small)


def status_of(got):
    parts = got.split(b' ', 2)
    return int(parts[1]) if len(parts) > 1 and parts[0].startswith(b'HTTP/') and parts[1][:3].isdigit() else 0


class CallSocket:
    """A call socket; frames are made by hand. status is 101 when it is open."""

    def __init__(self, caller, headers=None, timeout=10.0, small=False):
        self.sock = caller.connect(timeout, small)
        self.sock.sendall(
            caller.head(
                'GET',
                '/v1/calls',
                {
                    'Upgrade': 'websocket',
                    'Connection': 'Upgrade',
                    'Sec-WebSocket-Version': '13',
                    'Sec-WebSocket-Key': base64.b64encode(os.urandom(16)).decode(),
                    'Sec-WebSocket-Protocol': 'world-redis.calls.1',
                    **(headers or {}),
                },
            )
        )
        got = b''
        try:
            while b'\r\n\r\n' not in got:
                part = self.sock.recv(4096)
                if not part:
                    break
                got += part
        except OSError:
            pass
        self.status = status_of(got)
        self.rest = got.partition(b'\r\n\r\n')[2]

    def send(self, payload, opcode=2, fin=True, announced=None, masked=True):
        self.sock.sendall(frame(payload, opcode, fin, announced, masked))

    def bundle(self, calls, name=b'aaaa'):
        self.send(name + encode({'calls': calls}))

    def receive(self):
        """The next message as (opcode, bytes), or None at the end."""
        head = self._take(2)
        if head is None:
            return None
        size = head[1] & 127
        if size > 125:
            more = self._take(2 if size == 126 else 8)
            if more is None:
                return None
            size = int.from_bytes(more, 'big')
        body = self._take(size)
        return None if body is None else (head[0] & 15, body)

    def _take(self, n):
        while len(self.rest) < n:
            try:
                part = self.sock.recv(1 << 16)
            except OSError:
                return None
            if not part:
                return None
            self.rest += part
        out, self.rest = self.rest[:n], self.rest[n:]
        return out

    def close(self):
        self.sock.close()


def frame(payload, opcode=2, fin=True, announced=None, masked=True):
    size = len(payload) if announced is None else announced
    bit = 0x80 if masked else 0
    head = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        head += bytes([bit | size])
    elif size < 1 << 16:
        head += bytes([bit | 126]) + struct.pack('>H', size)
    else:
        head += bytes([bit | 127]) + struct.pack('>Q', size)
    return head + (b'\0\0\0\0' if masked else b'') + payload  # a mask of zeros changes nothing


class Raw(bytes):
    """CBOR as it stands."""


def encode(v):
    if isinstance(v, Raw):
        return bytes(v)
    if v is None:
        return b'\xf6'
    if isinstance(v, bool):
        return b'\xf5' if v else b'\xf4'
    if isinstance(v, int):
        return start_of(0, v) if v >= 0 else start_of(1, -1 - v)
    if isinstance(v, float):
        return b'\xfb' + struct.pack('>d', v)
    if isinstance(v, bytes):
        return start_of(2, len(v)) + v
    if isinstance(v, str):
        data = v.encode()
        return start_of(3, len(data)) + data
    if isinstance(v, list):
        return start_of(4, len(v)) + b''.join(map(encode, v))
    return start_of(5, len(v)) + b''.join(encode(k) + encode(x) for k, x in v.items())


def start_of(major, n):
    """The head of an item."""
    for size, code, most in ((1, 24, 1 << 8), (2, 25, 1 << 16), (4, 26, 1 << 32), (8, 27, 1 << 64)):
        if n < 24:
            return bytes([major << 5 | n])
        if n < most:
            return bytes([major << 5 | code]) + n.to_bytes(size, 'big')
    raise ValueError(n)


def tagged(tag, content):
    return Raw(start_of(6, tag) + content)


def wide_map(n):
    """A map of n keys of four letters: 6 bytes each."""
    letters = b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-'
    key = lambda i: bytes(letters[i >> shift & 63] for shift in (18, 12, 6, 0))
    return Raw(start_of(5, n) + b''.join(b'\x64' + key(i) + b'\xf4' for i in range(n)))
