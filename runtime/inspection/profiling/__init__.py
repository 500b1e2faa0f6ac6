"""Records of a call: the time of each step (`profile`) and the results of each operation (`trace`)."""

from ..plan_page import plan_page
from .bound import Bound, least_time
from .profile import Profile, StepFigures
from .recording import profile
from .trace import Trace, TracedResult, trace

__all__ = [
    "Bound",
    "Profile",
    "StepFigures",
    "Trace",
    "TracedResult",
    "least_time",
    "plan_page",
    "profile",
    "trace",
]
