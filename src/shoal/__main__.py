"""``python -m shoal`` is the command line."""

from shoal.cli.application import main

if __name__ == "__main__":
    main()
