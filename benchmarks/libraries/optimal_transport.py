"""Optimal transport: ott-jax."""

from __future__ import annotations

from typing import Any

import jax

from .declaration import Workload, library_program, normal


@library_program("ott-jax", bound=1e-3)
def ott_sinkhorn() -> Workload:
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    def cost(x: Any, y: Any) -> Any:
        problem = linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1))
        return sinkhorn.Sinkhorn(max_iterations=50, threshold=-1.0)(problem).reg_ot_cost

    return cost, (normal(200, 3), normal(180, 3, seed=1))


def distance_of_clouds(points: int) -> Workload:
    """The distance of two clouds of points by their inner distances."""
    from ott.geometry import pointcloud
    from ott.problems.quadratic import quadratic_problem
    from ott.solvers.linear import sinkhorn
    from ott.solvers.quadratic import gromov_wasserstein

    def cost(x: Any, y: Any) -> Any:
        problem = quadratic_problem.QuadraticProblem(pointcloud.PointCloud(x), pointcloud.PointCloud(y))
        solver = gromov_wasserstein.GromovWasserstein(
            sinkhorn.Sinkhorn(max_iterations=100), epsilon=0.5, max_iterations=5
        )
        return solver(problem).reg_gw_cost

    return cost, (normal(points, 2), normal(points + 10, 3, seed=1))


@library_program("ott-jax", bound=1e-3)
def ott_gromov_wasserstein() -> Workload:
    return distance_of_clouds(40)


@library_program("ott-jax", bound=1e-3, sizes=(10, 160))
def ott_gromov_wasserstein_of(points: int) -> Workload:
    return distance_of_clouds(points)


@library_program("ott-jax", bound=1e-3, sizes=(64, 256, 2048))
def ott_sinkhorn_divergence_gradient(points: int) -> Workload:
    from ott.geometry import pointcloud
    from ott.tools import sinkhorn_divergence

    def divergence(x: Any, y: Any) -> Any:
        return sinkhorn_divergence.sinkhorn_divergence(
            pointcloud.PointCloud, x, y, epsilon=0.1, solve_kwargs={"max_iterations": 20, "threshold": 1e-6}
        )[0]

    return jax.value_and_grad(divergence), (normal(points, 2), 0.5 + normal(points, 2, seed=1))


@library_program("ott-jax", bound=1e-3, sizes=(50, 200, 1600))
def ott_soft_ranks(values: int) -> Workload:
    from ott.tools import soft_sort

    return lambda values: soft_sort.ranks(values, max_iterations=50), (normal(values),)


@library_program("ott-jax", bound=1e-3, sizes=(25, 100, 800))
def ott_time_warping_gradient(length: int) -> Workload:
    """The gradient of a soft alignment of two series: a scan over the diagonals of a table."""
    from ott.geometry import costs

    cost = costs.SoftDTW(gamma=1.0)
    return jax.value_and_grad(cost), (normal(length), normal(length + 10, seed=1))
