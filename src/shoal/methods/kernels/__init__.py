"""Compiled loops shared by the methods."""
