"""Privacy models: measured on any table from its values alone, and enforced on groups."""
