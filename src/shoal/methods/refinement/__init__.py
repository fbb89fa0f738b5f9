"""Steps that improve or repair a given grouping."""
