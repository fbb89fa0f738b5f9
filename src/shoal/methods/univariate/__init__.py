"""Optimal grouping of one column, and of many through a projection."""
