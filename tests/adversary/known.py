# SPDX-License-Identifier: BSD-3-Clause
"""Known faults that are not fixed yet. Findings that match them are counted separately, as `known`,
unless run.py is given --all. Remove a line when its fault is fixed.

(part, pattern of the finding, description)"""
KNOWN = ()
