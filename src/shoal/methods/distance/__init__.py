"""Methods that grow groups by distances between records."""
