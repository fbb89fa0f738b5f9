"""Groups of persons who have several rows: constant columns that stay constant, and whole histories."""
