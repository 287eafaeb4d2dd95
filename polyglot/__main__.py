"""Entry point of the program, also for `python -m polyglot`."""

import os
import signal

INTERRUPTED = 128 + signal.SIGINT  # exit code by the convention of shells


def main() -> None:
    """Run the command line. Ctrl-C before it is loaded ends the process silently."""
    # A process in the background may be started with SIGINT ignored; it stays ignored.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))

    from polyglot.cli import main as run_command
    from polyglot.core.signals import defer_interrupt_during_import

    if interruptible:
        defer_interrupt_during_import()
    run_command()


if __name__ == "__main__":
    main()
