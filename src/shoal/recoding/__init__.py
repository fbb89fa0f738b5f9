"""Representatives of groups and the loss they cause, on arrays."""
