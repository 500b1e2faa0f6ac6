"""A plan as a page of HTML: its graph, its memory, its times, and the program that it comes from."""

from .graph import InnerOperation, PlanGraph, PlanStep, plan_graph
from .model_explorer import graph_collection, node_data, nodes_of_operations, nodes_of_results, step_values
from .page import plan_page
from .runs import read_profile, run_times
from .step_table import plan_table

__all__ = [
    "InnerOperation",
    "PlanGraph",
    "PlanStep",
    "graph_collection",
    "node_data",
    "nodes_of_operations",
    "nodes_of_results",
    "plan_graph",
    "plan_page",
    "plan_table",
    "read_profile",
    "run_times",
    "step_values",
]
