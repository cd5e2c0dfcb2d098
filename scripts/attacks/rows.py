"""All rows, in the order in which they are tried."""
from . import browser, more
from .table import ROWS

# 8b belongs behind 8, and what is beyond the table behind the table.
ROWS = {name: ROWS[name] for name in sorted(ROWS, key=lambda n: (not n[0].isdigit(), int(''.join(filter(str.isdigit, n))), n))}
