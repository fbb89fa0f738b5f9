"""Linear and integer programs of the exact methods."""
