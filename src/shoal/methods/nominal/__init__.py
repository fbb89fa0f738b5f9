"""Methods for tables of categories."""
