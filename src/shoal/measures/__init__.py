"""What a protection cost and what it protects, measured."""
