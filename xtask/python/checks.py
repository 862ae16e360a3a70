"""What the scripts of `cargo xtask conform` that drive the program have in common."""

import json
import subprocess


def check(case, work, way=None):
    """One line of the run: `work` holds, or why it does not; with the way of the file, if it is not that of the step."""
    named = {"case": case} if way is None else {"case": case, "way": way}
    line = {**named, "ok": True}
    try:
        work()
    except Exception as error:  # a check that fails is a line, not the end
        line = {**named, "ok": False, "why": f"{type(error).__name__}: {error}"}
    print(json.dumps(line), flush=True)


def program_in(program, folder):
    """Runs the program in a folder; another exit status than `status`, which may be several, is an error."""

    def run(*args, status=0):
        done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, cwd=folder)
        allowed = status if isinstance(status, tuple) else (status,)
        assert done.returncode in allowed, f"{' '.join(map(str, args))}: {done.returncode}, {done.stdout} {done.stderr}"
        return done

    return run
