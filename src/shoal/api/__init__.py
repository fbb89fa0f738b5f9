"""What users call: protect, compare, verify, assess, and the release they get."""
