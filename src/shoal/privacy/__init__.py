"""Privacy models: check them on any table, from scratch, as an outsider would."""
