"""The topics of a report: critical path, copies, communication, kernels, input, memory, serving, requests. One module a topic.

Filled by build.py.

Times are ns (`_ns`), sizes bytes, shares 0..1; None means that the trace does not say. All over the counted steps.
"""

from __future__ import annotations

import msgspec

from traceq.reports.topics.communication import CommunicationTopic
from traceq.reports.topics.copies import Copies
from traceq.reports.topics.critical_path import PathTopic
from traceq.reports.topics.data import Data
from traceq.reports.topics.kernels import Kernels
from traceq.reports.topics.memory import Memory
from traceq.reports.topics.requests import Requests
from traceq.reports.topics.serving import Serving


class Topics(msgspec.Struct, frozen=True):
    """The data of a report on each topic."""

    critical_path: PathTopic
    copies: Copies
    communication: CommunicationTopic
    kernels: Kernels
    data: Data
    memory: Memory
    serving: Serving
    requests: Requests
