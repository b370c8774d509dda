"""Ticks that are a pipeline, written as one: what each microbatch goes through is the same, a function of
the microbatch in front, one of the weights of each stage in turn, and one after them."""
from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .dims import Factor, ImportProblem, spread
from .loops import fitted, named
from .places import place_of
from .reader import Reader
from .ticks import NoPipeline, Node, Stages, key_of, known, stage_axis, uniform
from .values import Block, Line, Val


def named_in(entry) -> tuple:
    """The axes of one entry of a spec."""
    return entry if isinstance(entry, tuple) else (entry,)


def read(r: Reader, eqn, args: list[Val]) -> list[Val] | None:
    """The results of a shard_map body that is a pipeline; None where it is none, and then `r.no_pipeline`
    says why."""
    jaxpr = eqn.params["jaxpr"]
    jaxpr, consts = getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", [])
    axis, loop = stage_axis(jaxpr) or (None, False)
    if axis is None or r.dims.mesh[axis] < 2:
        return None
    stages = Stages(axis, r.dims.mesh[axis])
    given, params = [], []
    for k, (v, spec) in enumerate(zip(jaxpr.invars, eqn.params["in_specs"])):
        own = any(axis in named_in(e) for e in spec)
        params.append([stages.node(("param", k, rank if own else None), (), v.aval.shape)
                       for rank in range(stages.count)])
        given.append(params[-1])
    lines, path, place = list(r.lines), r.path, r.place
    try:
        if any(axis in named_in(e) for spec in eqn.params["out_specs"] for e in spec):
            raise NoPipeline(f"out_specs splits a result over {axis}, and those of a pipeline are the same on all stages. "
                             "Gradients through ticks are not read: prove the loss, of which JAX takes the gradient")
        out = stages.run(jaxpr, [[np.asarray(c)] * stages.count for c in consts], given)
        results = []
        for column in out:
            column = [stages.dense(v) for v in column]
            if any(v is not column[0] for v in column):
                raise NoPipeline("a result that is not the same on all stages: reduce it with "
                                 f'`psum(where(stage == stages - 1, out, 0), "{axis}")`')
            results.append(column[0])
        return Pipeline(r, stages, args).written(results)
    except NoPipeline as problem:
        r.lines, r.path, r.place = lines, path, place
        r.no_pipeline = ImportProblem(
            f"ticks that send with ppermute around {axis} are not recognised as a pipeline: {problem}",
            problem.place, "unsupported" if loop else "beside")
        return None


def frontier(node, stop) -> list[Node]:
    """The first terms below, and of the term itself, that `stop` holds of."""
    found: dict[int, Node] = {}
    seen, work = set(), [node]
    while work:
        x = work.pop()
        if known(x) or id(x) in seen:
            continue
        seen.add(id(x))
        if stop(x):
            found[id(x)] = x
        else:
            work += x.args
    return list(found.values())


def canonical(node, table: dict, a: int, holes: dict[int, str], rank: int | None, memo: dict) -> int:
    """A number that is the same for terms that do the same with microbatch `a` and the rank's weights."""
    if known(node):
        key = key_of(node)
    elif id(node) in holes:
        key = ("hole", holes[id(node)])
    elif id(node) in memo:
        return memo[id(node)]
    else:
        tag = (*node.tag[:1], id(node.tag[1]), *node.tag[2:]) if node.tag[0] in ("op", "psum") else node.tag
        if tag[0] == "param" and tag[2] is not None:
            tag = ("own", tag[1]) if tag[2] == rank else tag
        if tag == ("row", a) and not own_weights(node.args[0]):
            tag = ("row", "a")
        key = (tag, *(canonical(x, table, a, holes, rank, memo) for x in node.args))
    number = table.setdefault(key, len(table))
    if not known(node):
        memo[id(node)] = number
    return number


def own_weights(node) -> bool:
    return node.tag[0] == "param" and node.tag[2] is not None


@dataclass
class Pipeline:
    r: Reader
    stages: Stages
    args: list[Val]
    outer: dict[int, Val] = field(default_factory=dict)  # values outside of the loop
    table: dict = field(default_factory=dict)
    serial: dict = field(default_factory=dict)  # equations in the order in which they are written

    def canon(self, node, a: int, holes: dict[int, str], rank: int | None) -> int:
        return canonical(node, self.table, a, holes, rank, {})

    # What goes through the stages

    def chain(self, last: Node) -> list[Node]:
        """What each stage sends, the last one's first."""
        links = [last]
        while True:
            hops = frontier(links[-1], lambda x: x.tag == ("hop",))
            if not hops:
                return links
            if len(hops) > 1:
                raise NoPipeline("a stage takes several values of the stage before it: one is known")
            links.append(hops[0].args[0])

    def below(self, link: Node) -> dict[int, str]:
        """What a stage receives, as the hole of its term."""
        return {id(h): "x" for h in frontier(link, lambda x: x.tag == ("hop",))}

    def entry(self, first: Node, second: Node) -> Node:
        """What stage 0 takes in the place where the others take what they receive."""
        hole: dict[int, Node] = {}
        done, work = set(), [(second, first)]
        while work:
            like, x = work.pop()
            if known(like) or known(x):
                if not (known(like) and known(x) and key_of(like) == key_of(x)):
                    raise NoPipeline("the first stage does something else than the others")
                continue
            if like.tag == ("hop",):
                hole[id(x)] = x
                continue
            if (id(like), id(x)) in done or like is x and not self.below(like):
                continue
            done.add((id(like), id(x)))
            same = like.tag[:2] == x.tag[:2] if like.tag[0] == "param" else like.tag == x.tag
            if not same or len(like.args) != len(x.args):
                raise NoPipeline("the first stage does something else than the others")
            work += zip(like.args, x.args)
        if len(hole) != 1:
            raise NoPipeline("the first stage does not begin with one value")
        return next(iter(hole.values()))

    def written(self, results: list) -> list[Val]:
        sent = [x for x in {id(n): n for out in results
                            for n in frontier(out, lambda x: id(x) in self.stages.sent)}.values()]
        if not sent:
            raise NoPipeline("the results do not depend on what the last stage sends: let each stage send what it "
                             "gives, the last one too")
        chains = [self.chain(x) for x in sent]
        if others := [len(c) for c in chains if len(c) != self.stages.count]:
            raise NoPipeline(f"a microbatch goes through {others[0]} stages of {self.stages.count}"
                             + (": chunks that interleave are not known" if others[0] > self.stages.count else ""))
        entries = [self.entry(c[-1], c[-2]) for c in chains]
        order = [self.microbatch(e) for e in entries]
        if sorted(order) != list(range(len(order))):
            raise NoPipeline("the microbatches that reach the last stage are not all")
        self.last = {id(sent[i]): order[i] for i in range(len(sent))}
        shapes = {self.canon(link, order[i], self.below(link) or {id(entries[i]): "x"}, self.stages.count - 1 - k)
                  for i, c in enumerate(chains) for k, link in enumerate(c)}
        starts = {self.canon(e, a, {}, 0) for e, a in zip(entries, order)}
        if len(shapes) != 1 or len(starts) != 1:
            raise NoPipeline("not every stage and microbatch does the same")
        first = order.index(0)
        self.count = len(order)
        return self.pipeline(entries[first], chains[first][0], results)

    def microbatch(self, entry: Node) -> int:
        """Which entry of the inputs it is made of."""
        rows = {x.tag[1] for x in frontier(entry, lambda x: x.tag[0] == "row")}
        if len(rows) != 1:
            raise NoPipeline("what the first stage takes is not made of one entry of the inputs")
        return rows.pop()

    # What is emitted: by the microbatch, for each of the terms that the results need

    def emissions(self, results: list) -> dict[int, tuple[int, str]]:
        """Of terms of the results: the number of an emission, and "stack" or "sum"."""
        found: dict[int, tuple[int, str]] = {}
        self.emitted: dict[int, Node] = {}

        def terms(x, kind) -> list:
            return list(x.args) if kind == "stack" else addends(x)

        def shape(x):
            ends = frontier(x, lambda n: id(n) in self.last) if not known(x) else []
            if len(ends) != 1:
                return None
            a = self.last[id(ends[0])]
            return a, self.canon(x, a, {id(ends[0]): "last"}, None)

        def visit(x):
            if known(x) or id(x) in seen:
                return
            seen.add(id(x))
            for kind in ("stack", "sum"):
                if kind == "stack" and x.tag != ("stack",):
                    continue
                each = [shape(term) for term in terms(x, kind)]
                if len(each) == self.count and None not in each and len({s for _, s in each}) == 1 \
                        and ([a for a, _ in each] if kind == "stack" else sorted(a for a, _ in each)) \
                        == list(range(self.count)):
                    which = each[0][1]
                    zero = next(i for i, (a, _) in enumerate(each) if a == 0)
                    self.emitted.setdefault(which, terms(x, kind)[zero])
                    found[id(x)] = (which, kind)
                    return
            if id(x) in self.last:
                raise NoPipeline("the results take what the last stage gives otherwise than as an array of all "
                                 "microbatches, or as their sum")
            for arg in x.args:
                visit(arg)

        seen: set[int] = set()
        for out in results:
            visit(out)
        return found

    # Text

    def pipeline(self, entry: Node, last: Node, results: list) -> list[Val]:
        r = self.r
        self.where = self.emissions(results)
        self.loop = self.loop_dim()
        self.outside, r.lines = r.lines, []
        r._count += 1
        self.index, place = f"n{r._count}", None
        inside: dict[int, Val] = {}
        start = r.ordered(r.solid(self.value(entry, inside), r.node_key("entry")))
        end = self.staged(start, entry, last, inside)
        inside[id(last)] = end
        emitted = [(which, r.ordered(named(r, self.value(term, inside)))) for which, term in self.emitted.items()]
        lines, r.lines = r.lines, self.outside
        axis = self.stages.axis
        head = f"pipeline {self.index} in {r.dims.name(self.loop)} over {axis} by gpipe"
        names = []
        for _ in emitted:
            r._count += 1
            names.append(f"v{r._count}")
        place = next((line.place for line in lines if line.place), place)
        r.lines.append(Line(tuple(names), head, place, Block(head, lines, [], [r.use(y) for _, y in emitted])))
        self.stacks = {}
        for (which, y), name in zip(emitted, names):
            r.like(name, y)
            if r.distinct([(self.loop,), *y.pos]) != [(self.loop,), *y.pos]:
                raise r.problem("the dim of the microbatches is also a dim of what a stage gives")
            self.stacks[which] = replace(y, text=name, pos=[(self.loop,), *y.pos], dims=[self.loop, *y.dims],
                                         marks={**y.marks, axis: "U"}, literal=None, affine=None, made=())
        return [self.value(out, self.outer) for out in results]

    def loop_dim(self) -> Factor:
        found = self.r.dims.position(self.r.dims.node(self.r.node_key("microbatches"), self.count))
        if len(found) != 1:
            raise self.r.problem("a dim of microbatches that is split into factors elsewhere")
        return found[0]

    def staged(self, start: Val, entry: Node, last: Node, inside: dict[int, Val]) -> Val:
        """The loop over the layers of all stages, each with its weights."""
        r = self.r
        scans, consts, init, weights = layers(last, self.below(last))
        lead = [self.args[w.tag[1]] for w in weights]
        if not lead:
            raise NoPipeline("the stages have no weights that are split over them")
        loop = self.layer_dim(lead)
        r._count += 2
        index, carry = f"n{r._count}", replace(start, text=f"q{r._count - 1}", literal=None, affine=None,
                                              positive=False, made=())
        r.like(carry.text, start)
        steps = {}
        for w, x in zip(weights, lead):
            first = x.pos[0][0]
            x = r.rename(x, {first: replace(first, alias=loop.alias)}) if first.alias != loop.alias else x
            if not x.dims or x.dims[0] != x.pos[0][0]:
                raise NoPipeline("the weights of a stage are not in front of their tensor")
            steps[w.tag[1]] = replace(x, text=f"{r.use(x)}[{index}]", pos=x.pos[1:], dims=x.dims[1:], affine=None,
                                      made=(), literal=None)
        outside, r.lines = r.lines, []
        if scans is None:  # a stage is one layer
            env = {id(h): carry for h in frontier(last, lambda x: x.tag == ("hop",))}
            env.update({id(x): steps[x.args[0].tag[1]] for x in frontier(
                last, lambda x: x.tag == ("row", 0) and own_weights(x.args[0]))})
            following = self.value(last, {**env}, inner=True)
        else:
            eqn, p = scans, scans.params
            r.place = place_of(eqn) or r.place
            given = [self.value(c, dict(inside)) for c in consts]
            out = r.closed(p["jaxpr"], [*given, carry, *(steps[w.tag[1]] for w in weights)])
            following = out[0]
        following = fitted(r, carry, following)
        lines, r.lines = r.lines, outside
        r._count += 1
        name = f"v{r._count}"
        r.like(name, carry)
        head = f"stages {index} in {r.dims.name(loop)}, {carry.text}: {r.type_of(carry)} = {r.use(start)}"
        r.lines.append(Line((name,), head, r.place, Block(head, lines, [r.use(following)], [])))
        return replace(carry, text=name)

    def layer_dim(self, lead: list[Val]) -> Factor:
        first = None
        for x in lead:
            if len(x.pos[0]) != 1 or x.pos[0][0].axes != (self.stages.axis,):
                raise NoPipeline(f"weights that are split over {self.stages.axis} otherwise than by their first dim")
            if first is None:
                first = x.pos[0][0]
            self.r.dims.unify(first.node, x.pos[0][0].node, self.r.place)
        return replace(first, axes=())

    def value(self, node, env: dict[int, Val], inner: bool = False) -> Val:
        """A term in text. What does not depend on the loop is written where it is met."""
        r = self.r
        if known(node):
            if uniform(node):
                return r.scalar(node.flat[0].item(), node.dtype,
                                spread(node.shape))
            raise NoPipeline("a table of numbers that differs from entry to entry is used in the pipeline")
        if id(node) in env:
            return env[id(node)]
        env[id(node)] = found = self.made(node, env)
        return found

    def made(self, node: Node, env: dict[int, Val]) -> Val:
        r, tag = self.r, node.tag
        if env is self.outer and id(node) in self.where:
            which, kind = self.where[id(node)]
            whole = self.stacks[which]
            return whole if kind == "stack" else self.summed(whole)
        if tag[0] == "param":
            if tag[2] is not None:
                raise NoPipeline("the weights of one stage are used outside of the stages, or otherwise than by the "
                                 "layer: scan over them, or let each stage have one")
            return self.args[tag[1]]
        if tag[0] == "row":
            return self.entry_of(node, env)
        if tag[0] == "psum":
            r.place = place_of(node.eqn) or r.place
            return r.applied(node.eqn, [self.value(node.args[0], env)])[0]
        if tag[0] != "op":
            raise NoPipeline("the microbatches are put together in another order, or not all of them")
        vals = [self.value(x, env) for x in node.args]
        outer_path, r.path = r.path, (*r.path, "term", self.serial.setdefault((id(node.eqn), *map(id, node.args)), len(self.serial)))
        r.place = place_of(node.eqn) or r.place
        results = r.applied(node.eqn, vals)
        r.path = outer_path
        return results[tag[2]]

    def entry_of(self, node: Node, env: dict[int, Val]) -> Val:
        """x[a], in the loop over the microbatches."""
        r, (source,) = self.r, node.args
        if env is self.outer or own_weights(source):
            raise NoPipeline("single microbatches, or single layers of a stage, are used apart")
        within, r.lines = r.lines, self.outside
        x = self.value(source, self.outer)
        r.lines = within
        if len(x.pos[0]) != 1 or x.pos[0][0].axes or x.pos[0][0].virtual:
            raise NoPipeline("the microbatches are split, or several dims together")
        r.dims.unify(self.loop.node, x.pos[0][0].node, r.place)
        if r.key(x.pos[0][0]) != r.key(self.loop) or x.dims[0] != x.pos[0][0]:
            raise NoPipeline("the dim of the microbatches is not the first")
        return replace(x, text=f"{r.use(x)}[{self.index}]", pos=x.pos[1:], dims=x.dims[1:], affine=None, made=(),
                       literal=None)

    def summed(self, x: Val) -> Val:
        r = self.r
        words = f"{r.spell(x.dims, x.marks)} -> {r.spell(x.dims[1:], x.marks)}"
        return replace(x, text=r.emit(f'sum("{words}", {r.use(x)})'), pos=x.pos[1:], dims=x.dims[1:])


def addends(node: Node) -> list:
    """The terms of a sum; of any other term, itself."""
    found, work = [], [node]
    while work:
        x = work.pop()
        if not known(x) and x.tag[0] == "op" and x.eqn.primitive.name in ("add", "add_any"):
            work += x.args
        else:
            found.append(x)
    return found


def layers(last: Node, hole: dict[int, str]):
    """(the scan over a stage's layers or None, its constants, what it begins with, the weights)."""
    def own(x) -> bool:
        return own_weights(x)
    if last.tag[0] == "op" and last.eqn.primitive.name == "scan" and last.tag[2] == 0:
        p = last.eqn.params
        n, k = p["num_consts"], p["num_carry"]
        consts, init, weights = last.args[:n], last.args[n:n + k], last.args[n + k:]
        if k != 1 or id(init[0]) not in hole or not all(isinstance(w, Node) and own(w) for w in weights) \
                or any(frontier(c, own) for c in consts if not known(c)) or p["reverse"]:
            raise NoPipeline("a stage that is another scan than one over its layers, from what it receives")
        return last.eqn, consts, init, list(weights)
    weights = [w for w in frontier(last, lambda x: own(x) or x.tag == ("hop",)) if own(w)]
    if any(w.shape[0] != 1 for w in weights):
        raise NoPipeline("a stage has several layers and does not scan over them")
    return None, [], None, weights


__all__ = ["ImportProblem", "read"]
