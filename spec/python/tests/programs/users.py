"""Programs as users of Flax and MaxText have them: groups of an axis, sorts from the largest, routers with queues, steps of batches."""
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from . import gather, pair

ONE = AbstractMesh((4,), ("t",))
PAIRS_OF_FOUR, ACROSS = [[0, 1], [2, 3]], [[0, 2], [1, 3]]


# Groups of devices of one axis.

GROUPS = (lambda x, w: x @ w), (P(None, "t"), P("t")), P(), (4, 8), (8, 6)


@pair("groups_summed_twice", *GROUPS, mesh=ONE)
def _(x, w):
    return lax.psum(lax.psum(x @ w, "t", axis_index_groups=PAIRS_OF_FOUR), "t", axis_index_groups=ACROSS)


@pair("groups_summed_once", *GROUPS, mesh=ONE, bug="C2 the sum of half of the devices")
def _(x, w):
    return lax.psum(x @ w, "t", axis_index_groups=PAIRS_OF_FOUR)


@pair("groups_gathered", jnp.sin, P("t"), P(), (8, 6), mesh=ONE)
def _(x):
    x = lax.all_gather(jnp.sin(x), "t", tiled=True, axis_index_groups=PAIRS_OF_FOUR)
    return lax.all_gather(x, "t", tiled=True, axis_index_groups=ACROSS)


@pair("groups_gathered_in_another_order", jnp.sin, P("t"), P(), (8, 6), mesh=ONE, bug="C9 blocks 0, 2, 1, 3")
def _(x):
    x = lax.all_gather(jnp.sin(x), "t", tiled=True, axis_index_groups=ACROSS)
    return lax.all_gather(x, "t", tiled=True, axis_index_groups=PAIRS_OF_FOUR)


# Orders and running sums.

ROWS = P("d"), P("d"), (4, 8)


@pair("sorted_from_the_largest", lambda x: -jnp.sort(-x, -1), *ROWS)
def _(x):
    return jnp.sort(x, -1)[:, ::-1]


@pair("sorted_from_the_smallest", lambda x: -jnp.sort(-x, -1), *ROWS, bug="E the other order")
def _(x):
    return jnp.sort(x, -1)


@pair("sorted_with_one_minus", lambda x: -jnp.sort(-x, -1), *ROWS, bug="E the sign is lost")
def _(x):
    return jnp.sort(-x, -1)


@pair("associative_scan_is_a_running_sum", lambda x: jnp.cumsum(x, 1), *ROWS)
def _(x):
    return lax.associative_scan(jnp.add, x, axis=1)


@pair("associative_scan_from_the_end", lambda x: jnp.cumsum(x, 1), *ROWS, bug="E the other direction")
def _(x):
    return lax.associative_scan(jnp.add, x, axis=1, reverse=True)


RUNNING = (lambda x: jnp.cumsum(x.reshape(x.shape[0], -1), 1)), P("d"), P("d"), (4, 3, 5)


@pair("running_sum_of_two_dims", *RUNNING)
def _(x):
    return jnp.cumsum(x.reshape(x.shape[0], -1)[:, ::-1], 1)[:, ::-1] * -1 + x.reshape(x.shape[0], -1) + x.sum((1, 2))[:, None]


@pair("running_sum_of_two_dims_the_last_first", *RUNNING, bug="E3 the dims change places")
def _(x):
    return jnp.cumsum(x.transpose(0, 2, 1).reshape(x.shape[0], -1), 1)


# A router of two experts for each token, whose queues are numbered over both choices.


def route(x, w, room):
    gates, chosen = lax.top_k(jax.nn.softmax(x @ w, -1), 2)
    mask = jax.nn.one_hot(chosen, w.shape[1])
    queue = mask.transpose(1, 0, 2).reshape(-1, w.shape[1])
    at = (jnp.cumsum(queue, 0) * queue - 1).reshape(2, x.shape[0], -1).transpose(1, 0, 2)
    seats = jax.nn.one_hot(at.astype(jnp.int32), room) * ((at < room) & (mask > 0))[..., None]
    return seats.sum(1), (seats * (gates / gates.sum(-1, keepdims=True))[..., None, None]).sum(1)


def experts(x, up, down):
    return jnp.einsum("egcf,efm->egcm", jax.nn.silu(jnp.einsum("egcm,emf->egcf", x, up)), down)


def moe(x, w, up, down):
    seats, weights = jax.vmap(lambda x: route(x, w, 4))(x)
    return jnp.einsum("gsec,egcm->gsm", weights, experts(jnp.einsum("gsec,gsm->egcm", seats, x), up, down))


MOE = (P("t"), P(), P("t"), P("t")), P("t"), (8, 6, 4), (4, 8), (8, 4, 6), (8, 6, 4)


def exchanged(x, split, concat):
    return lax.all_to_all(x, "t", split_axis=split, concat_axis=concat, tiled=True)


@pair("moe_with_queues", moe, *MOE, mesh=ONE)
def _(x, w, up, down):
    seats, weights = jax.vmap(lambda x: route(x, w, 4))(x)
    y = experts(exchanged(jnp.einsum("gsec,gsm->egcm", seats, x), 0, 1), up, down)
    return jnp.einsum("gsec,egcm->gsm", weights, exchanged(y, 1, 0))


@pair("moe_with_queues_of_one_seat_less", moe, *MOE, mesh=ONE, bug="E another capacity")
def _(x, w, up, down):
    seats, weights = jax.vmap(lambda x: route(x, w, 3))(x)
    y = experts(exchanged(jnp.einsum("gsec,gsm->egcm", seats, x), 0, 1), up, down)
    return jnp.einsum("gsec,egcm->gsm", weights, exchanged(y, 1, 0))


# Gradients of trees, added over steps of batches.


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)


def accumulated(w, x, y, steps=3):
    batches = x.reshape(steps, -1, x.shape[1]), y.reshape(steps, -1, y.shape[1])
    add = lambda g, batch: (jax.tree.map(jnp.add, g, jax.grad(loss)(w, *batch)), None)
    return lax.scan(add, jax.tree.map(jnp.zeros_like, w), batches)[0]


STEPS = (P(), P("d"), P("d")), P(), {"a": (6, 8), "b": (8, 4)}, (12, 6), (12, 4)


@pair("gradients_of_steps", jax.grad(loss), *STEPS)
def _(w, x, y):
    return jax.tree.map(lambda g: lax.pmean(g / 3, "d"), accumulated(w, x, y))


@pair("gradients_of_steps_not_divided", jax.grad(loss), *STEPS, bug="C5 not divided by the steps")
def _(w, x, y):
    return lax.pmean(accumulated(w, x, y), "d")


# Layers by their number.

STACK = (lambda x, w: lax.fori_loop(0, w.shape[0], lambda i, h: h + jnp.tanh(h @ w[i]), x)), (P("d"), P(None, None, "t")), P("d"), (8, 8), (3, 8, 8)


def layer(w, i, h):
    return h + gather(jnp.tanh(h @ lax.dynamic_index_in_dim(w, i, 0, keepdims=False)), "t", 1)


@pair("layers_by_number", *STACK)
def _(x, w):
    return lax.fori_loop(0, w.shape[0], lambda i, h: layer(w, i, h), x)


@pair("layers_by_the_number_before", *STACK, bug="E the last layer is taken first")
def _(x, w):
    return lax.fori_loop(0, w.shape[0], lambda i, h: layer(w, i - 1, h), x)
