"""Replaces packages that the frameworks import and that no check of a schedule needs: GPU kernels, trackers, servers, data sets.

A replaced module has any attribute that it is asked for, as a class that can be subclassed, called and used as a decorator. Only the packages
named here are replaced, and only where they are not installed: any other missing import stays an error."""
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
import typing

import typing_extensions

PACKAGES = ("PIL", "aiofiles", "aiohttp", "datasets", "flask", "google", "httpx", "numba", "openai", "orjson", "pydantic", "ray", "requests",
            "tensorboard", "transformers", "uvloop", "wandb", "werkzeug")


class Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return made(name)


def made(name):
    def new(cls, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) else object.__new__(cls)
    return Anything(name, (), {"__new__": new, "__init__": lambda self, *args, **kwargs: None,
                               "__call__": lambda self, *args, **kwargs: args[0] if args else None,
                               "__class_getitem__": classmethod(lambda cls, key: cls)})


class Replaced(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = made(name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Replaced(spec.name)

    def exec_module(self, module):
        module.__path__ = []
        module.__version__ = "99.0"


def install():
    """After all other finders, so that what is installed is used."""
    if not hasattr(typing, "override"):
        typing.override = typing_extensions.override  # Megatron-core asks for it on Python 3.11, which has none
    sys.meta_path.append(Finder())
