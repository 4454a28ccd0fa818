"""What the server of `tests.acts` imports once, so that the processes it forks need not."""

import duckdb
import filelock
import polars
import pyarrow
import pyarrow.compute
import sqlglot

import closedset.load
import closedset.search
import closedset_cli.load
import closedset_cli.main

__all__ = ["closedset", "closedset_cli", "duckdb", "filelock", "polars", "pyarrow", "sqlglot"]
