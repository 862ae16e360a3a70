"""The command ``sciformats``."""

from __future__ import annotations

import signal
import sys

from sciformats import _sciformats


def main() -> int:
    """Runs the program with the arguments of this process and gives its exit status."""
    # Python turns Ctrl-C into an exception when it next runs Python code, which is never while the program runs, and
    # a pipe that is closed into an error. The program handles both as programs of the system do.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _sciformats.run(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
