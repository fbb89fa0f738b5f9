"""Roles, kinds, requirements and plans: what a user states about a table."""
