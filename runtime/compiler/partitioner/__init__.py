"""The program of one device: a program with shardings, cut into shards, with collectives between the devices.

- `axis_shardings`: how a value is divided, and which devices hold what;
- `context`: the state of partitioning a function, and conversions of shardings;
- `rules`: the rule of each operation; `custom_calls`: that of custom calls;
- `combining`: all-reduces that become one;
- `partitioner`: functions, control flow, and whether partitioning pays off.

Source: Shardy's documentation, "Sharding representation"; the idea is that of GSPMD (Xu et al., 2021): any
operation without a rule runs on each device, with replicated operands.
"""
