"""Optimal transport: ott-jax."""

from __future__ import annotations

from typing import Any

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
