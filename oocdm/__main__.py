"""`python -m oocdm` does what the command `oocdm` does."""

from oocdm.cli import main

if __name__ == "__main__":
    main()
