"""How records are grouped: one file an algorithm, found by its name in the registry."""
