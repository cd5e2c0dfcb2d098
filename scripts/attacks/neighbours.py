"""Callers of another namespace: `python3 -m attacks.neighbours PORT TOKEN COUNT`. Prints "ready", goes on until a line comes, prints what happened."""
import http.client
import json
import sys
import threading
import time

PATIENCE = 30.0  # how long a caller waits for one answer, as the client would
PAUSE = 0.05


class Neighbour(threading.Thread):
    def __init__(self, port, token, stop, ready):
        super().__init__(daemon=True)
        self.port, self.stop, self.ready = port, stop, ready
        self.headers = {
            'Accept': 'application/json',
            'Content-Type': 'application/json',
            **({'Authorization': f'Bearer {token}'} if token else {}),
        }
        self.took, self.failed, self.waited, self.why, self.conn, self.run_id = [], 0, 0, '', None, ''

    def run(self):
        n = 0
        while not self.stop.is_set():
            if n % 50 == 0:
                self.call(
                    'POST',
                    '/v1/events',
                    {
                        'event': {
                            'eventType': 'run_created',
                            'specVersion': 4,
                            'eventData': {'deploymentId': 'dpl', 'workflowName': 'other', 'input': 1},
                        }
                    },
                )
            else:
                self.call('GET', f'/v1/runs/{self.run_id}' if n % 5 else '/v1/runs?limit=5')
            if n == 0:
                self.ready.release()
            n += 1
            self.stop.wait(PAUSE)

    def call(self, method, path, body=None):
        """One call, made again as the client would: when it is to wait (429), and once when its connection broke."""
        start, data, broke = time.monotonic(), json.dumps(body) if body else None, False
        while True:
            status, why = self.once(method, path, data)
            if status in (200, 201):
                self.took.append(time.monotonic() - start)
                return
            again = status == 429 or (status == 0 and not broke)
            self.waited, broke = self.waited + (status == 429), broke or status == 0
            if not again or time.monotonic() - start > PATIENCE:
                break
            time.sleep(0.2)
        self.failed += 1
        self.why = f'{method} {path[:40]}: {status or why}'

    def once(self, method, path, data):
        try:
            if self.conn is None:
                self.conn = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)
            self.conn.request(method, path, data, self.headers)
            response = self.conn.getresponse()
            body = response.read()
            if method == 'POST' and response.status in (200, 201):
                self.run_id = json.loads(body)['run']['runId']
            return response.status, ''
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            if self.conn:
                self.conn.close()
            self.conn = None
            return 0, type(error).__name__


def main():
    port, token, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    stop, ready = threading.Event(), threading.Semaphore(0)
    callers = [Neighbour(port, token, stop, ready) for _ in range(count)]
    for caller in callers:
        caller.start()
    for _ in callers:
        ready.acquire(timeout=PATIENCE)
    before = [len(c.took) for c in callers]
    print('ready', flush=True)
    sys.stdin.readline()
    stop.set()
    for caller in callers:
        caller.join(2 * PATIENCE)
    took = sorted(t for c in callers for t in c.took)
    print(
        json.dumps(
            {
                'calls': len(took),
                'failed': sum(c.failed for c in callers),
                'waited': sum(c.waited for c in callers),
                'callers': sum(len(c.took) > n for c, n in zip(callers, before)),
                'why': next((c.why for c in callers if c.why), ''),
                'p99': took[int(len(took) * 0.99)] * 1000 if took else 0,
                'most': took[-1] * 1000 if took else 0,
            }
        )
    )


if __name__ == '__main__':
    main()
