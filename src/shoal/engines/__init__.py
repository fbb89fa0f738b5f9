"""Engines: one partitioned plan for tables beyond memory, run on one machine (``disk``) or on many (``spark``).

Nothing of this package is imported by an ordinary protection.
"""
