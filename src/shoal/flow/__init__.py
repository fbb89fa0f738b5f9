"""The stages of a protection, from a table to a released table."""
