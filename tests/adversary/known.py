# SPDX-License-Identifier: BSD-3-Clause
"""Faults that are known and not mended yet: findings that say so are counted apart, as `known`,
unless run.py is given --all. A line goes when its fault does.

(part, pattern of the finding, what it is)"""
KNOWN = (
    ("faults", r"ADVERSARY_FAULT=pthread_create", "threads that cannot be made abort"),
    ("faults", r"GLib aborts for want of", "large tables and scratch memory abort"),
    ("graphs", r"the graph stands still", "rings are smaller than the skew of branches that meet"),
)
