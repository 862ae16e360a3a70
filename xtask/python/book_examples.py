"""Runs the examples in Python of the book: the blocks of a page one after the other, in one namespace and a folder of their own.

    python book_examples.py ROOT

A block that begins with three backquotes and `python norun` is only compiled. The folder has a link to the fixtures.
"""

import os
import sys
import tempfile
import traceback
from pathlib import Path


def blocks(text):
    """Yields the line, the words after `python`, and the text of each block."""
    begin, words, lines = None, [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if begin is None and line.startswith("```python"):
            begin, words, lines = number + 1, line[9:].split(), []
        elif begin is not None and line.startswith("```"):
            yield begin, words, "\n".join(lines)
            begin = None
        elif begin is not None:
            lines.append(line)


def main(root):
    ran, compiled, failed = 0, 0, 0
    here = os.getcwd()
    for page in sorted((root / "docs").rglob("*.md")):
        name = page.relative_to(root)
        namespace = {"__name__": "__main__"}
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(root / "fixtures", Path(folder) / "fixtures")
            os.chdir(folder)
            for line, words, text in blocks(page.read_text(encoding="utf-8")):
                # Blank lines in front keep the numbers of lines.
                source = "\n" * (line - 1) + text + "\n"
                flags = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, for examples of notebooks
                try:
                    code = compile(source, str(name), "exec", flags=flags if "norun" in words else 0)
                    if "norun" in words:
                        compiled += 1
                        continue
                    exec(code, namespace)
                    ran += 1
                except Exception:
                    failed += 1
                    traceback.print_exc()
                    break
            namespace.clear()
            os.chdir(here)
    print(f"examples in Python: {ran} ran, {compiled} were only compiled, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
