"""The slow and obvious twin of every kernel; random tests compare the two."""
