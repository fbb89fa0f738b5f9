"""Exact methods, bounds, and searches that come close to them."""
