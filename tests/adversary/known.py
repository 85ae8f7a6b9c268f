# SPDX-License-Identifier: BSD-3-Clause
"""Faults that are known and not mended yet: findings that say so are counted apart, as `known`,
unless run.py is given --all. A line goes when its fault does.

(part, pattern of the finding, what it is)"""
KNOWN = ()
