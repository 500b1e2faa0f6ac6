"""Programs with the shardings of GSPMD, as older JAX writes them, become programs of the sdy dialect.

- `annotations`: whether a module has such shardings;
- `meshes`: a mesh whose axes express the tiles of all shardings of a module;
- `manual`: which operations of a block stand between `SPMDFullToShardShape` and `SPMDShardToFullShape`;
- `conversion`: annotations become attributes and constraints, and such operations a `sdy.manual_computation`.

Source: Xu et al., "GSPMD" (2021); JAX's lowering without Shardy; Shardy's "Sharding representation".
"""
