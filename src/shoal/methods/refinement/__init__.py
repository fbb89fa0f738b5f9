"""Steps that improve or repair a given grouping: ``f(points, labels, k, *, ...) -> Outcome``."""
