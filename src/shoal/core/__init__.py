"""Shared foundations: groups, group statistics, hierarchies, compiled loops, progress, threads."""
