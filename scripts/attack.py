#!/usr/bin/env python3
"""
Sends the built service everything that ever hurt it, from outside, and says what became of it.

Each row starts the service and a redis-server of its own in a network of its own, plants what it needs, and attacks while 32
callers of another namespace go on. What must hold: the service stays below 512 MB, Redis grows by at most 64 MB, and all
calls of the others succeed. Exit code 1 when a row fails. `make attack` builds what is needed.
"""
import argparse
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from attacks import lab  # noqa: E402
from attacks.browser import chromium  # noqa: E402
from attacks.rows import ROWS  # noqa: E402


LONGEST = 300  # seconds that a row may take


class TooLong(Exception):
    """Not an OSError: those of a row's own calls are expected."""


def too_long(*_):
    raise TooLong(f'no end after {LONGEST} s')


def mb(n):
    return f'{n / lab.MB:,.0f}'


def facts(trial):
    f, out = trial.facts, []
    if 'rss' in f:
        out.append(f'RSS {mb(f["rss"][0])} -> {mb(f["rss"][1])} MB, peak {mb(f["rss"][2])}')
        out.append('no Redis' if f['redis'] is None else f'Redis +{f["redis"] / lab.MB:,.1f} MB')
        out.append(f'fds {f["files"][0]} -> {f["files"][1]}, peak {f["files"][2]:,}')
        out.append(f'{f["cpu"]:.1f} CPU s in {f["took"]:.0f} s')
    if others := f.get('others'):
        out.append(
            f'{others["callers"]} others: {others["calls"]:,} calls, {others["failed"]} failed, {others["waited"]} waited, p99 {others["p99"]:,.0f} ms'
        )
    return out


def attempt(name, what, function, args, own_network):
    with lab.folder() as folder:
        trial = lab.Trial(folder, args.others)
        trial.own_network = own_network
        start = time.monotonic()
        try:
            signal.alarm(LONGEST)
            function(trial)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # noqa: BLE001 - the other rows are to be tried all the same
            if args.verbose:
                import traceback

                traceback.print_exc()
            if not trial.failures:  # a service that was ended answers nothing more
                trial.failures.append(f'the row broke off: {type(error).__name__}: {error}')
        finally:
            signal.alarm(0)
            trial.end()
        verdict = 'FAIL' if trial.failures else 'PASS'
        print(
            f'{verdict} {name:>3}  {what} | ' + ' | '.join(facts(trial) + trial.seen) + f' | {time.monotonic() - start:.0f} s', flush=True
        )
        shown = trial.failures if args.verbose else trial.failures[:4]
        for failure in shown:
            print(f'          {failure[:400]}', flush=True)
        if len(trial.failures) > len(shown):
            print(f'          and {len(trial.failures) - len(shown)} more (--verbose)', flush=True)
        return not trial.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', metavar='ROWS', help='the rows to try, with commas: 4,5,8b')
    parser.add_argument('--list', action='store_true', help='say what there is')
    parser.add_argument('--others', type=int, default=32, help='how many callers of another namespace go on (32)')
    parser.add_argument('--binary', metavar='PATH', help='another build of the service')
    parser.add_argument('--verbose', action='store_true', help='all that was found, not the first of it')
    args = parser.parse_args()
    if args.list:
        for name, (what, _) in ROWS.items():
            print(f'{name:>4}  {what}')
        return 0
    chosen = [n.strip() for n in args.only.split(',')] if args.only else list(ROWS)
    if unknown := [n for n in chosen if n not in ROWS]:
        parser.error(f'there is no row {", ".join(unknown)} (--list)')
    if args.binary:
        lab.BINARY[0] = os.path.abspath(args.binary)
    if not os.access(lab.BINARY[0], os.X_OK):
        parser.error(f'{lab.BINARY[0]} is missing: make build')
    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if '8b' in chosen:
        chromium()
    own_network = lab.own_network()
    if not own_network:
        print('this process got no network of its own: what would reach other machines is left out', flush=True)
    failed = [name for name in chosen if not attempt(name, *ROWS[name], args, own_network)]
    print(f'{len(chosen) - len(failed)} passed, {len(failed)} failed' + (f': {", ".join(failed)}' if failed else ''))
    return 1 if failed else 0


if __name__ == '__main__':
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    finally:
        lab.end_all()
    sys.exit(code)
