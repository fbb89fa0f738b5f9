"""The command line, one file a command.

Exit codes: 0 done, 1 a requirement is violated, 2 wrong use, 3 internal error, 130 interrupted.
"""
