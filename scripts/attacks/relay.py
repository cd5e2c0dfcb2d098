"""Small servers of the attacker."""
import contextlib
import socket
import threading


class Relay:
    """Passes bytes on to a port, and counts; with after_upgrade it puts bytes behind the answer that opens a WebSocket."""

    def __init__(self, target, after_upgrade=b''):
        self.target, self.after_upgrade = target, after_upgrade
        self.connections = self.requests = self.upgrades = 0
        self._server = socket.create_server(('127.0.0.1', 0), backlog=512)
        self.port = self._server.getsockname()[1]
        self._open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                self.connections += 1
                if self.connections > 2_000:  # a circle: enough has been seen
                    near.close()
                    continue
                try:
                    far = socket.create_connection(('127.0.0.1', self.target), timeout=30)
                except OSError:
                    near.close()
                    continue
                self._open |= {near, far}
                threading.Thread(target=self._pass, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()

    def _pass(self, source, sink, back):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if back and self.after_upgrade and b' 101 Switching' in data[:40]:
                    self.upgrades += 1
                    head, _, rest = data.partition(b'\r\n\r\n')
                    data = head + b'\r\n\r\n' + self.after_upgrade + rest
                elif not back:
                    self.requests += data.count(b' HTTP/1.1\r\n')
                sink.sendall(data)
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()
            self._open.discard(s)

    def end(self):
        self._server.close()
        for s in list(self._open):
            s.close()


class Listener:
    """Answers every connection with the same bytes."""

    def __init__(self, hosts, port, answer):
        self.connections, self._answer, self._servers, self._held = 0, answer, [], []
        for host in hosts:
            with contextlib.suppress(OSError):  # no IPv6 here
                self._servers.append(socket.create_server((host, port), family=socket.AF_INET6 if ':' in host else socket.AF_INET))
        self.port = self._servers[0].getsockname()[1]
        for server in self._servers:
            threading.Thread(target=self._accept, args=(server,), daemon=True).start()

    def _accept(self, server):
        with contextlib.suppress(OSError):
            while True:
                s, _ = server.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def _serve(self, s):
        self._held.append(s)
        with contextlib.suppress(OSError):
            s.settimeout(5)
            s.recv(1 << 16)
            answer = self._answer
            if callable(answer):
                answer(s)
            else:
                s.sendall(answer)
            s.recv(1 << 16)
        s.close()

    def end(self):
        for s in self._servers + self._held:
            s.close()
