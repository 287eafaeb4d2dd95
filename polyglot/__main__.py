"""The program, which is also `python -m polyglot`."""

import os
import signal


def main() -> None:
    """Interrupted while it is still being loaded it ends without a word: nothing has begun."""
    if (
        heard := signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # what runs in the background may not be meant
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from polyglot.cli import main as program
    from polyglot.core.signals import defer_interrupt_during_import

    if heard:
        defer_interrupt_during_import()
    program()


if __name__ == "__main__":
    main()
