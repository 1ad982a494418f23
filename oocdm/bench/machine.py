"""What a figure was measured on."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path
from typing import Any

import torch


def describe_machine() -> dict[str, Any]:
    """Processor, cores, versions and date, to stand beside every figure.

    >>> sorted(describe_machine())
    ['cores', 'date', 'processor', 'python', 'threads', 'torch']
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
