#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Part `program`: random graphs inside a program, which feeds blocks with gaps in any lanes and
takes the outputs. Every sample, its validity in each lane, and its tick are compared with numpy."""
import os
import random

import pipeline

import numpy  # noqa: E402

import part
import random_graphs
import sources
from maker import Maker


class Case(random_graphs.Case):
    """A graph that runs in this process; `feeds` are the blocks for its inputs."""

    feeds = {}

    def words(self):
        return f"in a program, {self.settings()}:"

    def settings(self):
        """The command's options, as settings of a pipeline."""
        given = dict(zip(self.arguments, [*self.arguments[1:], ""]))
        found = {"workers": int(given.get("--workers", 1))}
        if "--cache" in given:
            found["cache"] = int(given["--cache"])
        if "--default-layouts" in given:
            found["default_layouts"] = 1
        return found

    def check(self):
        self.write()
        text = (self.folder / "graph.yaml").read_text()
        os.chdir(self.folder)  # the graph's files are there
        feeds = {name: pipeline.Feed(array, time, cuts, validity)
                 for name, (array, time, cuts, validity) in self.feeds.items()
                 if name in self.stages}
        takes = {name: (axes.index("time"), len(stream.lanes()))
                 for name, (stream, axes, _) in self.wanted.items()}
        try:
            taken = pipeline.run(text, feeds, takes, **self.settings())
        except pipeline.Failure as failure:
            words = str(failure)
            if self.gives_way(random_graphs.REFUSAL.search(words)):
                return self.check()
            hangs = "stands still" in words or "nothing came" in words
            raise part.Finding("hang" if hangs else "wrong", words) from failure
        for name, (stream, axes, _) in self.wanted.items():
            self.compare(name, taken[name], stream, axes)

    def compare(self, name, taken, stream, axes):
        def fail(what):
            raise part.Finding("wrong", f"{name} of {stream.kind}[{' '.join(axes)}]: {what}")

        if taken.array is None:
            if stream.x.size:
                fail(f"wants {stream.lengths()}, but is given nothing")
            return
        x, error = (random_graphs.ordered(array, stream, axes)
                    for array in (stream.x, stream.error))
        given = sources.loaded(taken.array, stream.kind)
        if given.shape != x.shape:
            fail(f"wants {x.shape}, but is given {given.shape}")
        random_graphs.difference(given, x, error, axes, fail)
        wrong = taken.validity != stream.lanes()
        if wrong.any():
            fail(f"validity differs in {wrong.sum()} places, first at [lane][time] "
                 f"{numpy.argwhere(wrong)[0]}")
        if taken.start != stream.start and x.size:
            fail(f"starts at {taken.start}, where {stream.start} is wanted")


def one(seed, folder):
    numbers = random.Random(seed)
    maker = Maker(numbers, folder, None, in_program=True)
    random_graphs.force(numbers, maker.stages)
    arguments = random_graphs.arguments_of(numbers)
    case = Case(folder, maker.stages, maker.wanted, arguments, {})
    Case.feeds = maker.feeds
    random_graphs.check(case)


if __name__ == "__main__":
    part.main(one)
