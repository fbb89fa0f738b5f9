"""Measures of disclosure risk and of data utility."""
