"""Groups of thousands of links and objects with hundreds of attributes are edited link by link, in turn by h5py and by our side.

    hdf5_many_conform.py PROGRAM DIR   where PROGRAM understands `edit-many FILE SCRIPT`

Both sides keep the same indexes, heaps and counts of free space in the file: what one has left, the other has to add to and to take from.
"""

import json
import os
import random
import subprocess
import sys

import h5py
import numpy as np

LONG = "a long name " * 30
HUGE = "a name that no block of a heap holds " * 130


class Both:
    """A file, and what is meant to be in it."""

    def __init__(self, program, path, seed):
        self.program, self.path, self.links, self.attributes = program, path, {}, {}
        self.random = random.Random(seed)
        self.script = []

    def name(self):
        number = self.random.randrange(100_000)
        return f"n{number}" + (LONG if number % 97 == 0 else HUGE if number % 997 == 1 else "")

    def new_name(self, taken):
        while (name := self.name()) in taken:
            pass
        return name

    def plan(self, adds, removes, renames):
        """Changes of links, in an order of chance: which, and of what."""
        kinds = ["add"] * adds + ["remove"] * removes + ["rename"] * renames
        self.random.shuffle(kinds)
        for kind in kinds:
            if kind == "add":
                name = self.new_name(self.links)
                self.links[name] = target = self.random.choice(["hard", "/x", "/some/where/else" * 3])
                yield kind, name, target
            elif self.links:
                name = self.random.choice(list(self.links))
                target = self.links.pop(name)
                if kind == "remove":
                    yield kind, name, target
                else:
                    to = self.new_name(self.links)
                    self.links[to] = target
                    yield kind, name, to

    def plan_attributes(self, adds, removes, renames):
        kinds = ["add"] * adds + ["remove"] * removes + ["rename"] * renames
        self.random.shuffle(kinds)
        for kind in kinds:
            if kind == "add":
                # The library has no names of attributes that are so long that their message fills a block.
                name = self.new_name(self.attributes)[:3000]
                if name in self.attributes:
                    continue
                self.attributes[name] = count = self.random.randrange(1, 60)
                yield kind, name, count
            elif self.attributes:
                name = self.random.choice(list(self.attributes))
                count = self.attributes.pop(name)
                if kind == "remove":
                    yield kind, name, count
                else:
                    to = self.new_name(self.attributes)[:3000]
                    self.attributes[to] = count
                    yield kind, name, to

    def here(self, links, attributes, commits=20):
        """Our side makes so many changes, in several commits."""
        lines = []
        for kind, name, other in self.plan(*links):
            if kind == "add":
                lines.append(("hard", f"many/{name}", "target") if other == "hard" else ("soft", f"many/{name}", other))
            elif kind == "remove":
                lines.append(("unlink", f"many/{name}"))
            else:
                lines.append(("move", f"many/{name}", f"many/{other}"))
        for kind, name, other in self.plan_attributes(*attributes):
            if kind == "add":
                lines.append(("attribute", "many", name, str(other)))
            elif kind == "remove":
                lines.append(("remove", "many", name))
            else:
                lines.append(("rename", "many", name, other))
        each = max(1, len(lines) // commits)
        script = self.path + ".script"
        with open(script, "w") as file:
            for start in range(0, len(lines), each):
                for line in lines[start : start + each]:
                    file.write("\t".join(line) + "\n")
                file.write("commit\n")
        done = subprocess.run([self.program, "edit-many", self.path, script], capture_output=True, text=True)
        assert done.returncode == 0, f"edit-many: {done.stderr.strip()}"
        self.check()

    def there(self, links, attributes, openings=3):
        """h5py makes so many changes, in several openings."""
        part = lambda counts, i: [count // openings for count in counts]
        for i in range(openings):
            with h5py.File(self.path, "r+") as file:
                group = file["many"]
                for kind, name, other in self.plan(*part(links, i)):
                    if kind == "add":
                        group[name] = file["target"] if other == "hard" else h5py.SoftLink(other)
                    elif kind == "remove":
                        del group[name]
                    else:
                        group.move(name, other)
                for kind, name, other in self.plan_attributes(*part(attributes, i)):
                    if kind == "add":
                        group.attrs.create(name, np.full(other, 17, "i4"))
                    elif kind == "remove":
                        del group.attrs[name]
                    else:
                        h5py.h5a.rename(group.id, name.encode(), other.encode())
        self.check()

    def check(self):
        with h5py.File(self.path) as file:
            group = file["many"]
            assert len(group) == len(self.links), f"{len(group)} links, {len(self.links)} expected"
            assert sorted(group) == sorted(self.links)
            for name, target in self.links.items():
                link = group.get(name, getlink=True)
                assert ("hard" if isinstance(link, h5py.HardLink) else link.path) == target, name
                if target == "hard":
                    assert group[name] == file["target"], name
            hard = sum(target == "hard" for target in self.links.values())
            assert h5py.h5o.get_info(file["target"].id).rc == hard + 1, "links to the target"
            assert len(group.attrs) == len(self.attributes), f"{len(group.attrs)} attributes, {len(self.attributes)} expected"
            found = {}
            h5py.h5a.iterate(group.id, lambda name: found.update({name.decode(): None}) and None)
            assert sorted(found) == sorted(self.attributes)
            for name, count in self.attributes.items():
                assert (group.attrs[name] == np.full(count, 17)).all(), name
            if group.id.get_create_plist().get_link_creation_order():
                numbers = [group.id.links.get_info(name.encode()).corder for name in group]
                assert len(set(numbers)) == len(numbers) and numbers == sorted(numbers), "order of creation"


def create(path, low, order, n):
    with h5py.File(path, "w", libver=(low, "latest")) as file:
        file["target"] = [1]
        file.create_group("many", track_order=order)
    return n


def came_and_went(program, path, low, order, seed, first):
    both = Both(program, path, seed)
    create(path, low, order, 0)
    few = (20, 5, 5)
    # The one who begins, then the other, in turn; it grows.
    turns = [both.there, both.here] if first == "there" else [both.here, both.there]
    for number in range(6):
        turns[number % 2]((900, 200, 100), (60, 15, 15))
    # About as many come as go.
    for number in range(4):
        turns[number % 2]((300, 300, 100), (30, 30, 10))
    # Nodes and blocks become empty, and so does the group in the end: from dense storage to the header and back.
    for number in range(6):
        turns[number % 2]((20, len(both.links) // 2, 10), (3, len(both.attributes) // 2, 3))
    for number in range(2):
        turns[number]((0, len(both.links), 0), (0, len(both.attributes), 0))
        turns[number](few, few)
    for number in range(2):
        turns[number]((60, 10, 10), (20, 5, 5))


def one_by_one(program, path, low, order, seed):
    """Each commit has one change; the library looks after every few of them."""
    both = Both(program, path, seed)
    create(path, low, order, 0)
    both.there((3000, 0, 0), (200, 0, 0), 1)
    for _ in range(5):
        both.here((20, 20, 10), (10, 10, 5), 1000)
        both.there((9, 9, 9), (3, 3, 3), 3)


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]

    def check(case, way, run):
        line = {"case": f"edit many: {case}", "way": way, "ok": True}
        try:
            run()
        except Exception as error:  # a failed case is a line, whatever failed
            line.update(ok=False, why=f"{type(error).__name__}: {error}")
        print(json.dumps(line), flush=True)

    number = 0
    for low in ["earliest", "v108", "latest"]:
        for order in (False, True):
            title = f"libver {low}{', order kept' if order else ''}"
            for first in ("there", "here"):
                path = os.path.join(folder, f"many{number:02}.h5")
                check(f"{title}, begun {first}", f"edited {first}", lambda: came_and_went(program, path, low, order, number, first))
                number += 1
            path = os.path.join(folder, f"many{number:02}.h5")
            check(f"{title}, one by one", "edited here", lambda: one_by_one(program, path, low, order, number))
            number += 1


if __name__ == "__main__":
    main()
