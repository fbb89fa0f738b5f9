"""Shoal Studio: the whole job in the browser, from a file to a release; started by ``shoal studio``."""
