"""The program of one device: a program with shardings, cut into shards, with collectives between the devices.

- `layouts`: how a value is divided, and which devices hold what;
- `context`: one function on its way, and how a value changes its layout;
- `rules`: what operations become;
- `partitioner`: functions, control flow, and whether it is worth it.

Source: Shardy's documentation, "Sharding representation"; the idea is that of GSPMD (Xu et al., 2021): any
operation without a rule runs on each device, with replicated operands.
"""
