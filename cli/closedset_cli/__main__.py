"""`python -m closedset_cli`: the same command without its script."""

import sys

from closedset_cli.main import main

sys.exit(main())
