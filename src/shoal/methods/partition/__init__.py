"""Methods that cut the space and group inside the parts."""
