"""Converts programs with GSPMD shardings, as older JAX writes them, to the sdy dialect.

- `annotations`: whether a module has such shardings;
- `meshes`: a mesh whose axes express the tiles of all shardings of a module;
- `manual`: finds the operations of a block between `SPMDFullToShardShape` and `SPMDShardToFullShape`;
- `conversion`: converts annotations to attributes and constraints, and such operations to
  `sdy.manual_computation`.

Source: Xu et al., "GSPMD" (2021); JAX's lowering without Shardy; Shardy's "Sharding representation".
"""
