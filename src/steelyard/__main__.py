"""`python -m steelyard` is the command."""

from steelyard.command import main

if __name__ == "__main__":
    main()
