"""`python -m nmt_cli` is the command `nmt`; torchrun needs this form."""

from nmt_cli.cli import main

if __name__ == "__main__":
    main()
