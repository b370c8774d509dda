"""Modules of torch with DTensor: right ones are proved, wrong ones refuted at their line."""
import inspect

import pytest

pytest.importorskip("torch", exc_type=ImportError)

import torch
import torch_bugs as bugs
import torch_layers
import torch_llama as llama
import torch_mlp as example
import torch_programs
import torch_windows  # noqa: F401  (its programs are among the others)
from shardproof.torch import prove
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

MESH, ROWS = example.mesh, {"d": Shard(0)}


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def tensor_parallel(module, mesh, **out):
    parallelize_module(module, mesh["t"], {"up": ColwiseParallel(), "down": RowwiseParallel(**out)})


def forward(module, parallelize=tensor_parallel, split=ROWS):
    return prove(module, parallelize, (8, 16), mesh=MESH, split=[split], out=split)


def step(module, parallelize=tensor_parallel, loss=example.loss, data=("d",)):
    return prove(module, parallelize, (8, 16), (8, 16), mesh=MESH, split=[ROWS, ROWS], loss=loss, data=data)


def test_a_forward_pass_is_proved():
    report = forward(example.FeedForward)
    assert report.proved, report
    assert sum("agree to" in check for check in report.checks) == 4, report.checks


def test_a_step_with_fsdp_is_proved(tmp_path):
    report = step(example.FeedForward, example.parallelize)
    assert report.proved, report
    assert "up_weight: f32[C/t/d B]" in report.text  # FSDP splits what tensor parallelism has split
    backward = [line for line in report.text.splitlines() if "exp(" in line]
    assert backward and all("torch_mlp.py:15:" in line for line in backward)  # of gelu's gradient


class Local(example.FeedForward):
    """Takes the terms of the devices for the sum."""

    def forward(self, x):
        h = torch.tanh(self.up(x))
        y = self.down(h)
        y = y.to_local() if isinstance(y, DTensor) else y
        return x + y


def test_a_missing_reduction_is_refuted_at_its_line():
    def parallelize(module, mesh):
        tensor_parallel(module, mesh, output_layouts=Partial(), use_local_output=False)

    report = forward(Local, parallelize)
    assert report.verdict == "refuted", report
    assert report.errors[0].place.line == line_of(Local.forward, "return x + y")
    assert any("in torch the two programs differ" in check for check in report.checks)


class Scaled(example.FeedForward):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(16))

    def forward(self, x):
        scale = self.scale
        if isinstance(scale, DTensor):
            scale = scale.to_local(grad_placements=self.grads)
        return self.down(torch.tanh(self.up(x * scale)))


def replicated(module, mesh):
    tensor_parallel(module, mesh)
    module.scale = torch.nn.Parameter(DTensor.from_local(module.scale.data, mesh["t"], [Replicate()]))


@pytest.mark.parametrize("placement,verdict", [(Replicate(), "proved"), (Partial(), "refuted")], ids=str)
def test_the_placement_of_a_gradient(placement, verdict):
    """Megatron-LM 1446 the other way round: the input's gradient has been reduced before."""
    class Placed(Scaled):
        grads = [placement]

    assert step(Placed, replicated).verdict == verdict


def test_a_step_without_data_parallelism_is_refuted():
    assert step(example.FeedForward, data=()).verdict == "refuted"


def test_a_sum_of_the_ranks_losses_is_refuted():
    assert step(example.FeedForward, loss=lambda y, z: ((y - z) ** 2).sum()).verdict == "refuted"


def test_ranks_that_run_other_programs_are_refused():
    class Ranked(example.FeedForward):
        factor = 1.0

        def forward(self, x):
            return super().forward(x) * self.factor

    def parallelize(module, mesh):
        tensor_parallel(module, mesh)
        module.factor = 1.0 + (mesh.get_rank() == 3)

    report = forward(Ranked, parallelize)
    assert report.verdict == "unknown" and "rank 3 runs another program" in str(report), report


def test_an_operator_that_is_not_known_is_named_with_its_line():
    class Sorted(example.FeedForward):
        def forward(self, x):
            return torch.sort(self.down(self.up(x)), -1)[0]

    report = forward(Sorted)
    assert report.verdict == "unknown" and "`sort.default`" in str(report)
    assert report.errors[0].place.line == line_of(Sorted.forward, "torch.sort")


def test_a_module_that_torch_cannot_trace_is_named_with_its_line():
    class Wide(example.FeedForward):
        def forward(self, x):
            return self.up(torch.cat([x, x], -1))

    report = forward(Wide)
    assert report.verdict == "unknown" and "torch cannot trace the program" in str(report), report
    assert report.errors[0].place.line == line_of(Wide.forward, "torch.cat"), report


def test_a_step_of_a_llama_layer_is_proved():
    report = prove(llama.Layer, llama.parallelize, *llama.shapes, mesh=llama.mesh, split=llama.split,
                   loss=llama.loss, data=("d",))
    assert report.proved, report
    assert sum("agree to" in check for check in report.checks) == 4, report.checks


def step_of_block(kind, loss=bugs.loss, data=("d",)):
    return prove(bugs.Block, bugs.parallelized(kind), *bugs.SHAPES, mesh=bugs.MESH, split=[bugs.ROWS] * 2,
                 loss=loss, data=data)


def test_a_step_with_sequence_parallelism_by_hand_is_proved():
    report = step_of_block(bugs.Right)
    assert report.proved and sum("agree to" in check for check in report.checks) == 4, report


@pytest.mark.parametrize("bug", bugs.BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_refuted_at_its_line(bug):
    report = step_of_block(bug.kind, bug.loss, bug.data)
    assert report.verdict == "refuted", report
    assert any("in torch the two programs differ" in check for check in report.checks), report.checks
    if "# wrong" in inspect.getsource(bug.kind):
        assert report.errors[0].place.line == line_of(bug.kind, "# wrong"), report


def test_a_loss_of_split_words_is_proved_for_labels_that_are_words_or_do_not_count():
    """torch's own backward of it is another one for labels that torch refuses."""
    program = torch_programs.Program("loss_of_split_words", torch_programs.Words, torch_layers.loss_of_split_words, torch_programs.IDS,
                                     torch_layers.of_split_words, options={"within": loss_parallel})
    report = program.prove()
    assert report.proved and "x1 is -100, or 0 <= x1 < |E|" in report.assumptions, report
    assert sum("agree to" in check for check in report.checks) == 4, report.checks


@pytest.mark.parametrize("program", torch_programs.PROGRAMS, ids=lambda program: program.name)
def test_a_program_of_a_visitor(program):
    report = program.prove()
    assert report.verdict == program.verdict, report
    agree = any(check.startswith("in torch the two programs agree") for check in report.checks)
    assert agree == (not program.bug), report.checks


class Dropped(torch_programs.Plain):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.1)


def test_random_numbers_are_named():
    report = torch_programs.Program("dropped", Dropped, lambda module, mesh: None).prove()
    assert report.verdict == "unknown" and "as of dropout" in str(report) and "`eval()`" in str(report), report


def test_a_mean_of_counted_labels_is_said_to_be_one():
    report = next(each for each in torch_programs.PROGRAMS if each.name == "words_and_fsdp").prove()
    assert "`labels.numel()`" in str(report.errors[0]), report
