"""Rows that neighbours send: halos of convolutions, blocks that are skewed."""
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from . import pair

LINE = AbstractMesh((4,), ("t",))
SQUARE = AbstractMesh((2, 2), ("a", "b"))
RIGHT, LEFT = [(i, i + 1) for i in range(3)], [(i + 1, i) for i in range(3)]


def convolved(x, w, padding="SAME"):
    return lax.conv_general_dilated(x, w, (1,), padding, dimension_numbers=("NWC", "WIO", "NWC"))


def with_halo(x, w, right, left):
    before, after = lax.ppermute(x[:, -1:], "t", right), lax.ppermute(x[:, :1], "t", left)
    return convolved(jnp.concatenate([before, x, after], 1), w, "VALID")


HALO = (P(None, "t"), P()), P(None, "t"), (2, 16, 3), (3, 3, 5)


@pair("halo_of_a_convolution", convolved, *HALO, mesh=LINE)
def _(x, w):
    return with_halo(x, w, RIGHT, LEFT)


@pair("halo_around_the_ends", convolved, *HALO, mesh=LINE, bug="C13 the last device's row comes before the first")
def _(x, w):
    return with_halo(x, w, [*RIGHT, (3, 0)], [*LEFT, (0, 3)])


@pair("halo_from_the_other_side", convolved, *HALO, mesh=LINE, bug="C13 the neighbours are exchanged")
def _(x, w):
    return with_halo(x, w, LEFT, RIGHT)


CANNON = (P("a", "b"), P("a", "b")), P("a", "b"), (8, 6), (6, 4)
SWAP = [(0, 1), (1, 0)]


def rolled(x, w):
    return x @ w + lax.ppermute(x, "b", SWAP) @ lax.ppermute(w, "a", SWAP)


@pair("cannon", lambda x, w: x @ w, *CANNON, mesh=SQUARE)
def _(x, w):
    return rolled(lax.ppermute(x, ("a", "b"), [(0, 0), (1, 1), (3, 2), (2, 3)]),
                  lax.ppermute(w, ("a", "b"), [(0, 0), (3, 1), (2, 2), (1, 3)]))


@pair("cannon_not_skewed", lambda x, w: x @ w, *CANNON, mesh=SQUARE, bug="C13 blocks meet that do not belong together")
def _(x, w):
    return rolled(x, w)
