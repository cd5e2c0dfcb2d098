"""The TypeScript client as an app uses it, beside an attack."""
import json
import os
import subprocess

from .lab import ROOT, end, spawn

_node = []


def node():
    """The Node that the end-to-end apps use."""
    if not _node:
        app = os.path.join(ROOT, 'e2e/apps/v5')
        _node.append(
            subprocess.run([os.path.join(ROOT, 'scripts/node22.sh'), app], capture_output=True, text=True, check=True).stdout.strip()
        )
    return _node[0]


def node_client(port, token, runs, how='all', seconds=120):
    """Has the client list and get runs; returns what it says, and for how many ms its event loop stood at most."""
    process = spawn(
        [node(), os.path.join(ROOT, 'scripts/attacks/reader.cjs'), how, *runs],
        {'WORKFLOW_WORLD_URL': f'http://127.0.0.1:{port}', 'WORKFLOW_WORLD_TOKEN': token or ''},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, errors = process.communicate(timeout=seconds)
        said = json.loads(out.splitlines()[-1])
        return said['told'], said['lag']
    except subprocess.TimeoutExpired:
        return f'no end after {seconds} s', None
    except (ValueError, IndexError, KeyError):
        last = [line for line in errors.splitlines() if 'Error' in line]
        return f'its process ended with {process.returncode}: {last[:1]}', None
    finally:
        end(process)
