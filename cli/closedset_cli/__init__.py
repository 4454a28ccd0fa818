"""The command `closedset`: a thin user of the library `closedset`."""
