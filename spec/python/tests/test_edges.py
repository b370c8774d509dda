"""Integers of few bits, masks of -inf, ids that name no entry, axes that are positions: each as JAX has it, or the report says so."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shardproof
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P
from programs import MESH, ids


def proved(model, body, in_specs, out_specs, *shapes, **more):
    return shardproof.prove(model, jax.shard_map(body, mesh=MESH, in_specs=in_specs, out_specs=out_specs, check_vma=False), *shapes, **more)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_a_cast_to_integers_of_fewer_bits_is_no_identity(dtype):
    def model(x):
        return x.astype(dtype).astype("int32")

    assert proved(model, lambda x: x, P("d"), P("d"), ids(8, 4)).verdict == "refuted"
    assert proved(model, model, P("d"), P("d"), ids(8, 4)).proved
    assert proved(lambda x: x.astype("int32"), lambda x: x.astype("int32") * 1, P("d"), P("d"),
                  jax.ShapeDtypeStruct((8, 4), dtype)).proved


def test_a_cast_to_unsigned_integers_is_named():
    def model(x):
        return x.astype("uint32").astype("float32")

    report = proved(model, lambda x: x.astype("float32"), P("d"), P("d"), ids(8, 4))
    assert not report.proved and "a cast of int32 to uint32" in str(report), report


@pytest.mark.parametrize("where_masked", [lambda y: jnp.where(jnp.isneginf(y), 0.0, y), lambda y: jnp.where(jnp.isfinite(y), y, 0.0)])
def test_a_row_that_is_masked_as_a_whole_is_not_taken_for_a_number(where_masked):
    def largest(s, m):
        return jnp.where(m, s, -jnp.inf).max(-1)

    args = (P("d"), P("d")), P("d"), (8, 32), jax.ShapeDtypeStruct((8, 32), "bool")
    assert not proved(lambda s, m: where_masked(largest(s, m)), largest, *args).proved
    assert proved(lambda s, m: where_masked(largest(s, m)), lambda s, m: where_masked(largest(s, m)), *args).proved


def test_the_logarithm_of_a_sum_whose_entries_may_all_be_masked():
    def model(s, m):
        return jax.nn.logsumexp(jnp.where(m, s, -jnp.inf), -1)

    def body(s, m):
        z = jnp.where(m, s, -jnp.inf)
        top = lax.pmax(z.max(-1), "t")
        top = jnp.where(jnp.isfinite(top), top, 0.0)
        return jnp.log(lax.psum(jnp.exp(z - top[:, None]).sum(-1), "t")) + top

    report = proved(model, body, (P("d", "t"), P("d", "t")), P("d"), (8, 8), jax.ShapeDtypeStruct((8, 8), "bool"))
    assert report.proved, report


def test_ids_whose_mode_decides_beyond_the_table_are_said_to_name_entries():
    split, shapes = (P(None, "d"), P(), P(None, "d")), ((8, 4), ids(6), (6, 4))
    report = proved(lambda x, i, u: x.at[i].add(u, mode="drop"), lambda x, i, u: x.at[i].add(u, mode="clip"), split, P(None, "d"), *shapes)
    assert report.proved and report.assumptions == ["0 <= i < |A|"], report
    report = proved(lambda x, i, u: x.at[i + 1].add(u), lambda x, i, u: x.at[i + 1].add(u), split, P(None, "d"), *shapes)
    assert report.proved and report.assumptions == ["the ids in `x.at[i + 1].add(u)` name entries"], report

    def picked(t, i):
        return jnp.take_along_axis(t, i[:, None], 1)

    report = proved(picked, picked, (P("d"), P("d")), P("d"), (8, 4), ids(8), dims=("B V", "B"))
    assert report.proved and report.assumptions == ["0 <= i < |V|"], report


@pytest.mark.parametrize("axes, verdict", [(("i", "t", "d"), "proved"), (("i", "t"), "refuted")])
def test_a_sum_over_an_axis_of_vmap_and_of_the_mesh(axes, verdict):
    def body(x):
        return jax.vmap(lambda row: row / lax.psum(row.sum(), axes), axis_name="i")(x)

    report = proved(lambda x: x / x.sum(), body, P("d", "t"), P("d", "t"), (8, 12))
    assert report.verdict == verdict, report


@pytest.mark.parametrize("name", ["pmax", "pmin"])
def test_a_maximum_over_an_axis_of_vmap_and_of_the_mesh(name):
    def body(x):
        return jax.vmap(lambda row: row - getattr(lax, name)(getattr(row, name[1:])(), ("i", "t", "d")), axis_name="i")(x)

    report = proved(lambda x: x - getattr(x, name[1:])(), body, P("d", "t"), P("d", "t"), (8, 12))
    assert report.proved, report


@pytest.mark.parametrize("factor", [lambda d, t: max(d, t) / 4, lambda d, t: min(d, t) / 2, lambda d, t: (d + t) / 6, lambda d, t: abs(d - t) / 2])
def test_what_holds_on_one_mesh_is_not_proved_for_every_mesh(factor):
    report = proved(lambda x: x * 1.0, lambda x: x * factor(lax.axis_size("d"), lax.axis_size("t")), P("d"), P("d"), (8, 4))
    assert report.proved and report.level.startswith("for d=2 t=4 and every size"), report


def test_what_holds_at_one_size_is_said_to():
    args = lambda x: jnp.roll(x, 4, 0), lambda x: jnp.concatenate([x[4:], x[:4]]), P(None, "d"), P(None, "d"), (8, 4)
    report = proved(*args)
    assert report.verdict == "refuted" and "it is proved for d=2 t=4 at these sizes" in str(report), report
    assert proved(*args, meshes=1).proved


def first_of_all(most):
    def body(x):
        index = jnp.argmax(x, -1) + lax.axis_index("t") * x.shape[1]
        return lax.pmin(jnp.where(x.max(-1) == lax.pmax(x.max(-1), "t"), index, most), "t")

    return lambda x: jnp.argmax(x, -1), body, P(None, "t"), (6, 16)


def rows(most, fill):
    def body(table, i):
        local = i - lax.axis_index("t") * table.shape[0]
        mask = (local >= 0) & (local < table.shape[0])
        found = table.at[jnp.where(mask, local, most)].get(mode="fill", fill_value=0) if fill else \
            jnp.where(mask[:, None], table[jnp.clip(local, 0, most)], 0.0)
        return lax.psum(found, "t")

    return lambda table, i: table[i], body, (P("t"), P()), (8, 6), ids(8)


@pytest.mark.parametrize("most", [1000, 2 ** 30])
@pytest.mark.parametrize("of", [first_of_all, lambda most: rows(most, False), lambda most: rows(most, True)], ids=["first", "clip", "fill"])
def test_a_number_above_the_sizes_that_were_traced_is_not_above_all_sizes(of, most):
    model, body, split, *shapes = of(most)
    report = proved(model, body, split, P(), *shapes, validate=False)
    assert (report.proved and "every mesh and size" in report.level) == (most > 1000), report


def test_precision_that_is_reduced_is_rounding():
    assert proved(lambda x: x * 1.0, lambda x: lax.reduce_precision(x, 8, 7), P("d"), P("d"), (8, 6)).proved


def in_place(x):
    y = jax.new_ref(x)
    y[...] += 1
    return y[...]


def on_the_first(x):
    return lax.cond(lax.axis_index("d") == 0, lambda x: lax.psum(x, "t") / 4, lambda x: x, x)


@pytest.mark.parametrize("model, body, spec, shape, said", [
    (lambda x: jnp.abs(jnp.fft.fft(x)), lambda x: jnp.abs(jnp.fft.fft(x)), P("d"), (8, 4), "arrays of complex64 are not read"),
    (lambda x: x + 1, in_place, P("d"), (8, 4), "the primitive `new_ref` is not read: write it with others"),
    (lambda x: x, on_the_first, P("d"), (8, 4), "`jnp.where` takes both branches"),
    (lambda x: lax.population_count(x), lambda x: lax.population_count(x), P("d"), ids(8), "the primitive `population_count` is not read"),
    (lambda x: jnp.where(x > 0, x, jnp.inf).min(0), lambda x: lax.pmin(jnp.where(x > 0, x, jnp.inf).min(0), "d"), P("d"), (8, 4),
     "infinity and NaN are no numbers"),
    (lambda x: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c * 2 + 1, x),
     lambda x: lax.while_loop(lambda c: lax.psum(c.sum(), "d") < 9.0, lambda c: c * 2 + 1, x), P("d"), (8, 4), "whose end depends on data"),
    (lambda x: x.sum(0), lambda x: lax.psum(x.sum(0), "q"), P("d"), (8, 4), "JAX cannot trace the program: NameError")])
def test_what_is_not_read_is_named_in_the_words_of_jax_at_its_line(model, body, spec, shape, said):
    report = proved(model, body, spec, spec if "sum" not in said and "q" not in said else P(), shape)
    assert report.verdict != "proved" and said in str(report) and "notation" not in str(report), report
    assert "test_edges.py" in str(report.errors[0].place), report


def test_what_is_printed_changes_nothing(capsys):
    def body(x):
        jax.debug.print("{}", x)
        return x * 2

    assert proved(lambda x: x * 2, body, P("d"), P("d"), (8, 4)).proved
    assert not capsys.readouterr().out


def on_the_first_alone(x):
    return x + lax.cond(lax.axis_index("d") == 0, lambda: lax.psum(x.sum(), "d"), lambda: 0.0)


def test_devices_that_wait_for_others_are_not_proved():
    """Mapped over the devices both branches would be computed, and JAX's own values agree."""
    def model(x):
        return x + jnp.where(jnp.arange(8)[:, None] < 4, x.sum(), 0.0)

    report = proved(model, on_the_first_alone, P("d"), P("d"), (8, 4))
    assert report.verdict == "unknown" and "have no part in that" in str(report), report


def halves(x):
    n = x.shape[0] // 2
    return lax.psum(x[:n].sum() + x[n:2 * n].sum(), "d")


@pytest.mark.parametrize("model, body, spec, level", [
    (lambda x: x.sum(), halves, P("d"), "for every mesh and size, where 2 | B, if"),
    (lambda x: x.sum(), lambda x: lax.psum(x.sum(), "d") * (1 + x.shape[0] % 2), P("d"), "for every mesh and size in even blocks, if"),
    (lambda x: x.sum(), lambda x: lax.psum(x.sum(), "d") * (1 + x.shape[1] % lax.axis_size("d")), P("d"),
     "for every mesh and size in even blocks, if")])
def test_sizes_that_are_traced_have_nothing_in_common_that_is_not_said(model, body, spec, level):
    report = proved(model, body, spec, P(), (8, 6), validate=False)
    assert report.proved and report.level.startswith(level), report


def test_results_of_other_names_are_not_compared():
    report = proved(lambda a, b: {"a": a, "b": b}, lambda a, b: {"b": a, "c": b}, P(), P(), (8, 4), (8, 4))
    assert not report.proved and "the model's result `['a']` stands where the sharded function has `['b']`" in str(report), report
    assert "test_edges.py" in str(report.errors[0].place), report


def test_an_array_of_the_program_is_one_whatever_its_dims_of_one_entry():
    weights = jnp.arange(8.0)

    def body(x):
        n = x.shape[0]
        return x * lax.dynamic_slice(weights, (lax.axis_index("d") * n,), (n,))[:, None]

    assert proved(lambda x: x * weights[:, None], body, P("d"), P("d"), (8, 4)).proved


def test_a_number_of_bfloat16_is_as_it_is_written():
    def body(x, by):
        return (x.astype("bfloat16") * by).astype("float32")

    assert proved(lambda x: x * 0.1, lambda x: body(x, 0.1), P("d"), P("d"), (8, 4)).proved
    assert proved(lambda x: x * 0.1, lambda x: body(x, 0.11), P("d"), P("d"), (8, 4)).verdict == "refuted"


def test_no_real_number_is_nan():
    assert proved(lambda x: jnp.median(x, -1), lambda x: jnp.median(x, -1), P("d"), P("d"), (8, 5), validate=False).proved


def test_a_quotient_of_integers_is_refuted_by_numbers_of_more_digits():
    report = proved(lambda i: i.sum() // 32, lambda i: lax.psum(i.sum() // 16, "d") // 2, P("d"), P(), ids(8, 4), meshes=1)
    assert report.verdict == "refuted", report


def test_the_model_s_value_is_said_in_the_user_s_words():
    report = proved(lambda x: x * jnp.sign(jnp.exp(x) - 2.0), lambda x: x * 1.0, P("d"), P("d"), (8, 4), validate=False)
    assert "the model has `" in str(report) and "`model` has" not in str(report), report


def one_head(x, w):
    return jax.grad(lambda x: jnp.einsum("hql,hlk->qk", jax.nn.softmax(x, -1), w).sum())(x)


@pytest.mark.parametrize("model, body, specs, shapes", [
    (one_head, one_head, (P("t"), P("t")), ((4, 6, 6), (4, 6, 5))),
    (lambda x, w: jnp.tanh(x.reshape(6, 20) @ w), lambda x, w: jnp.tanh(lax.psum(x.reshape(6, 5) @ w, "t")),
     (P(None, "t"), P("t")), ((6, 4, 5), (20, 7)))], ids=["gradient", "reshape"])
def test_one_entry_of_a_dim_on_each_device_is_read_as_a_plan(model, body, specs, shapes):
    out = P("t") if model is body else P()
    report = proved(model, body, specs, out, *shapes)
    assert report.proved and "device" not in report.level, report


def heads(x, wq, wk, wv, wo, reduced=lambda y: y):
    """The gradient of attention's weights for values, whose softmax sums over what a device has alone."""
    def loss(wk):
        q, k, v = (jnp.einsum("blm,mhd->blhd", x, w) for w in (wq, wk, wv))
        s = jax.nn.softmax(jnp.einsum("blhd,bmhd->bhlm", q, k), -1)
        return (reduced(jnp.einsum("bhlm,bmhd,hdo->blo", s, v, wo)) ** 2).sum()
    return jax.grad(loss)(wk)


HEADS = (P(), *[P(None, "t")] * 3, P("t")), ((4, 6, 8), *[(8, 4, 5)] * 3, (4, 5, 8))


def test_other_sizes_are_proved_too_where_a_device_has_one_entry():
    def body(*args):
        return heads(*args, lambda y: lax.psum(y, "t"))

    report = shardproof.prove(heads, jax.shard_map(body, mesh=AbstractMesh((4,), ("t",)), in_specs=HEADS[0], out_specs=P(None, "t")), *HEADS[1])
    assert report.proved and report.level.startswith("for every mesh and size") and report.level.endswith("one entry of D each"), report


def test_one_entry_of_a_dim_hides_no_missing_sum():
    report = shardproof.prove(heads, jax.shard_map(heads, mesh=AbstractMesh((4,), ("t",)), in_specs=HEADS[0], out_specs=P(None, "t"),
                                                   check_vma=False), *HEADS[1])
    assert report.verdict == "refuted", report


def test_nothing_is_assumed_of_ids_whose_quotients_are_read():
    """Queries of a device and the one key that each of them needs, of keys that all devices have."""
    def model(q, k):
        return q * jnp.repeat(k, q.shape[0] // k.shape[0], 0)

    def body(q, k):
        n = q.shape[0]
        return q * k[(lax.axis_index("t") * n + jnp.arange(n)) // (n * lax.axis_size("t") // k.shape[0])]

    report = proved(model, body, (P("t"), P()), P("t"), (8, 5), (2, 5))
    assert report.proved and not report.assumptions, report


def test_copies_that_differ_are_said_to():
    report = proved(lambda x: x.sum(0), lambda x: x.sum(0), P("d"), P(), (8, 6))
    assert any("is not the same on all devices" in check for check in report.checks), report


def test_an_index_that_is_computed_of_numbers():
    assert proved(lambda x: x[:, 1], lambda x: x[:, jnp.minimum(1, jnp.maximum(0, -3) + 7)], P("d"), P("d"), (8, 6)).proved


def test_what_jax_has_traced_for_another_mesh_is_not_taken():
    """JAX keeps traces, also those of jitted functions; each proof is about the mesh that it is asked for."""
    def added(x):
        return lax.psum(jnp.tanh(x), "t") / 4

    function = jax.jit(jax.shard_map(added, mesh=MESH, in_specs=P("d"), out_specs=P("d"), check_vma=False))
    for mesh, verdict in (({"d": 4, "t": 2}, "refuted"), (None, "proved"), ({"d": 4, "t": 2}, "refuted"), ({"d": 1, "t": 4}, "proved")):
        report = shardproof.prove(jnp.tanh, function, (8, 6), meshes=1, validate=False, mesh=mesh)
        assert report.verdict == verdict, report


@pytest.mark.parametrize("other", [AbstractMesh((4, 2), ("d", "t")), AbstractMesh((8,), ("t",))])
def test_shard_maps_of_two_meshes_are_no_plan(other):
    """The second one adds two or eight copies, where the first one's mesh has four."""
    def sharded(x):
        h = jax.shard_map(jnp.tanh, mesh=MESH, in_specs=P("d"), out_specs=P("d"), check_vma=False)(x)
        return jax.shard_map(lambda h: lax.psum(h, "t") / 4, mesh=other, in_specs=P(), out_specs=P(), check_vma=False)(h)

    for meshes in (1, 3):
        report = shardproof.prove(jnp.tanh, sharded, (8, 6), meshes=meshes, validate=False)
        assert report.verdict == "refuted" and "give both one mesh" in str(report) and "test_edges.py" in str(report.errors[0].place), report


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit])
def test_a_function_runs_after_its_proof_as_before(jit):
    mesh = jax.make_mesh((1, 1), ("d", "t"), axis_types=(AxisType.Auto,) * 2)
    function = jit(jax.shard_map(lambda x: lax.pmean(jnp.tanh(x), "t"), mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False))
    assert shardproof.prove(jnp.tanh, function, (8, 6)).proved
    assert np.allclose(function(np.ones((8, 6))), np.tanh(1.0))


def test_axes_that_are_explicit_are_read_as_others():
    """`jax.make_mesh` makes such axes; shapes say nothing of how arguments are split."""
    mesh = AbstractMesh((2, 2), ("d", "t"), axis_types=(AxisType.Explicit,) * 2)
    function = jax.shard_map(lambda x, w: lax.psum(x @ w, "t"), mesh=mesh, in_specs=(P("d", "t"), P("t")), out_specs=P("d"))
    report = shardproof.prove(jnp.dot, function, (8, 6), (6, 4))
    assert report.proved and report.level.startswith("for every mesh and size"), report


def test_gradients_outside_of_two_shard_maps():
    def sharded(x, w, v):
        h = jax.shard_map(lambda x, w: jnp.tanh(x @ w), mesh=MESH, in_specs=(P("d"), P(None, "t")), out_specs=P("d", "t"), check_vma=False)(x, w)
        return jax.shard_map(lambda h, v: lax.psum(h @ v, "t"), mesh=MESH, in_specs=(P("d", "t"), P("t")), out_specs=P("d"), check_vma=False)(h, v)

    def step(function):
        return lambda w, v, x: jax.value_and_grad(lambda p: (function(x, *p) ** 2).sum())((w, v))

    report = shardproof.prove(step(lambda x, w, v: jnp.tanh(x @ w) @ v), step(sharded), (6, 8), (8, 5), (8, 6))
    assert report.proved and "not validated" not in str(report), report


def test_what_f32_rounds_is_no_difference():
    far = lambda x: ((x + 3e4) - 3e4) * 2.0  # f32 keeps two digits
    sharded = jax.shard_map(lambda x: x + x, mesh=MESH, in_specs=P("d"), out_specs=P("d"))
    assert shardproof.prove(far, sharded, (4, 8)).proved
    wrong = jax.shard_map(lambda x: x * 2.001, mesh=MESH, in_specs=P("d"), out_specs=P("d"))
    assert shardproof.prove(far, wrong, (4, 8)).verdict == "refuted"


@pytest.mark.parametrize("kept", (True, False))
def test_shard_maps_in_the_steps_of_a_loop(kept):
    mlp = lambda x, a, b: jax.nn.relu(x @ a) @ b
    sharded = jax.shard_map(lambda x, a, b: lax.psum(mlp(x, a, b), "t"), mesh=MESH,
                            in_specs=(P("d"), P(None, "t"), P("t")), out_specs=P("d"))

    def layers(f, kept=True):
        return lambda x, a, b: lax.scan(lambda h, w: (h * kept + f(h, *w), None), x, (a, b))[0]

    report = shardproof.prove(layers(mlp), layers(sharded, kept), (8, 6), (3, 6, 8), (3, 8, 6))
    assert report.verdict == ("proved" if kept else "refuted"), report
    assert any("the core on threads and JAX agree" in each for each in report.checks) == kept, report

    def gradient(f):  # of a sum: what comes back to the last step is broadcast
        return lambda x, a, b: jax.grad(lambda a, b: f(x, a, b).sum(), argnums=(0, 1))(a, b)

    report = shardproof.prove(gradient(layers(mlp)), gradient(layers(sharded, kept)), (8, 6), (3, 6, 8), (3, 8, 6))
    assert report.verdict == ("proved" if kept else "refuted"), report

    alone = lambda f: lambda x, a, b: lax.scan(lambda h, w: (f(h, *w), None), x, (a, b))[0]  # the next value is split, the first is not
    report = shardproof.prove(alone(mlp), alone(sharded) if kept else layers(sharded), (8, 6), (3, 6, 8), (3, 8, 6))
    assert report.verdict == ("proved" if kept else "refuted") and (not kept or "every mesh and size, if" in report.level), report


@pytest.mark.parametrize("kept", (True, False))
def test_gradients_of_blocks_that_are_shard_maps(kept):
    def block(x, a, b, total=lambda y: y):  # each device of t gets a part of what comes back to the residual stream
        return x + total(jax.nn.relu(x / (1 + x * x) @ a) @ b)

    sharded = jax.shard_map(lambda x, a, b: block(x, a, b, lambda y: lax.psum(y, "t") if kept else lax.pmean(y, "t")), mesh=MESH,
                            in_specs=(P("d"), P(None, "t"), P("t")), out_specs=P("d"), check_vma=False)

    def gradient(f):
        return lambda x, a, b: jax.grad(lambda a, b: (lax.scan(lambda h, w: (f(h, *w), None), x, (a, b))[0] ** 2).sum(), argnums=(0, 1))(a, b)

    report = shardproof.prove(gradient(block), gradient(sharded), (8, 6), (3, 6, 8), (3, 8, 6))
    assert report.verdict == ("proved" if kept else "refuted"), report


def test_what_is_broadcast_beside_a_result_that_is_split():
    sharded = jax.shard_map(jnp.sin, mesh=MESH, in_specs=P("d"), out_specs=P("d"))
    beside = lambda f, by: lambda x: f(x) * jnp.full((8, 1), by) + jnp.ones((8, 6))
    assert shardproof.prove(beside(jnp.sin, 2.0), beside(sharded, 2.0), (8, 6)).proved
    assert shardproof.prove(beside(jnp.sin, 2.0), beside(sharded, 3.0), (8, 6)).verdict == "refuted"
