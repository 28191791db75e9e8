"""Puts the libraries that a wheel needs inside it: auditwheel's repair, with those of X11 too.

    python repair_wheel.py WHEEL -w FOLDER

The tags of manylinux say that every system has libX11, and cairo asks for it. Machines that train have none.
"""

import sys
from dataclasses import replace
from typing import Any

from auditwheel import policy
from auditwheel.main import main

ABSENT = {"libX11.so.6", "libXext.so.6", "libXrender.so.1", "libexpat.so.1"}


class Policies(policy.WheelPolicies):
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._policies = [replace(one, whitelist=one.whitelist - ABSENT) for one in self._policies]


def patch() -> None:
    """auditwheel's modules import the class by name, so each of them gets ours."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("auditwheel") and getattr(module, "WheelPolicies", None) is policy.WheelPolicies:
            if module is not policy:
                module.WheelPolicies = Policies  # type: ignore[attr-defined]


if __name__ == "__main__":
    import auditwheel.main_repair
    import auditwheel.wheel_abi  # noqa: F401

    patch()
    sys.argv.insert(1, "repair")
    sys.exit(main())
