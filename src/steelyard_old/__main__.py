"""`python -m steelyard_old` is the command."""

from steelyard_old.cli.main import main

if __name__ == "__main__":
    main()
