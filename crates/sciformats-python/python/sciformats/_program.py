"""The command ``sciformats``."""

from __future__ import annotations

import signal
import sys

from sciformats import _sciformats


def main() -> int:
    """Run the program with the arguments of this process, and return its exit status."""
    # Python raises an exception for Ctrl-C when it next runs Python code, which does not happen while the program runs, and an
    # error for a closed pipe. The program handles both in the same way as other programs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _sciformats.run(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
