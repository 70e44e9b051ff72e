"""One module per kind of report. Each has `read(connection, path, pass_name)`, which fills an open store.

A reader inserts rows, and its doubts as rows of `finding`. It raises BadReport, with nothing inserted, when the
file as a whole cannot be read.
"""
