"""Changed code in a process that runs: functions replaced in place, loops compiled anew, or a module changed."""

import ast
import functools
import gc
import importlib
import importlib.abc
import importlib.util
import re
import sys
import types
from contextlib import contextmanager

from changes import mutated, places


def module_name(file, source):
    """The name under which a file of the package is imported."""
    return ".".join(file.relative_to(source.parent).with_suffix("").parts)


def enclosing(tree, node):
    """The names of classes and of the outermost function around a node; None if it is not in the body of a function."""

    def search(statements, names):
        for statement in statements:
            if not any(inner is node for inner in ast.walk(statement)):
                continue
            if isinstance(statement, ast.FunctionDef):
                inside = any(inner is node for part in statement.body for inner in ast.walk(part))
                return [*names, statement.name] if inside else None
            return search(statement.body, [*names, statement.name]) if isinstance(statement, ast.ClassDef) else None
        return None

    return search(tree.body, [])


def code_of(compiled, names):
    """The code object with a path of names inside the code of a module."""
    for name in names:
        inner = [part for part in compiled.co_consts if isinstance(part, types.CodeType) and part.co_name == name]
        compiled = inner[-1]
    return compiled


def plain_functions(module, names):
    """The functions that a path of names in a module leads to: wrapped functions, properties and loops are opened."""
    holder = module
    for name in names[:-1]:
        holder = getattr(holder, name)
    found = [vars(holder)[names[-1]]]
    for each in found:
        for attribute in ("__wrapped__", "__func__", "fget", "func", "function", "py_func"):
            inner = getattr(each, attribute, None)
            if inner is not None and not any(inner is other for other in found):
                found.append(inner)
    return [each for each in found if isinstance(each, types.FunctionType)]


@contextmanager
def replaced_code(file, source, number, *, compiled):
    """Change one function of an imported module in place; raise LookupError where that is not possible."""
    text = file.read_text(encoding="utf-8")
    original, found = places(text)
    names = enclosing(original, found[number][1])
    if names is None:
        raise LookupError("the change is outside of functions")
    module = importlib.import_module(module_name(file, source))
    code = code_of(compile(mutated(text, number)[0], str(file), "exec"), names)
    old = code_of(compile(original, str(file), "exec"), names)
    functions = [each for each in plain_functions(module, names) if each.__code__.co_firstlineno == old.co_firstlineno]
    if len(functions) != 1 or functions[0].__code__.co_freevars != code.co_freevars:
        raise LookupError("the function is not found")
    before = functions[0].__code__
    stored = compile_anew(file, source) if compiled else None
    functions[0].__code__ = code
    try:
        yield
    finally:
        functions[0].__code__ = before
        if stored is not None:
            restore_compiled(file, source, stored)
        clear_caches()


def compile_anew(file, source):
    """Let the compiled loops that reach a file be compiled again in this process, and not be stored."""
    from shoal.core.compiled import Kernel

    stored, reaching = Kernel._stored_dispatcher, modules_that_reach(file, source)  # noqa: SLF001
    Kernel._stored_dispatcher = lambda self: None if self.function.__module__ in reaching else stored(self)  # noqa: SLF001
    forget_compiled(reaching)
    return stored


def restore_compiled(file, source, stored):
    """Load compiled loops as they are stored again."""
    from shoal.core.compiled import Kernel

    Kernel._stored_dispatcher = stored  # noqa: SLF001
    forget_compiled(modules_that_reach(file, source))


@contextmanager
def interpreted(file, source):
    """Run the compiled loops of a file, and those that call them, as plain Python; all others stay compiled."""
    from shoal.core.compiled import Kernel

    name, call = module_name(file, source), Kernel.__call__
    kernels = {id(each): each for module in list(sys.modules.values()) for each in kernels_in(module)}
    used = {number: {id(other) for other in kernels_called(each)} for number, each in kernels.items()}
    chosen = {number for number, each in kernels.items() if each.function.__module__ == name}
    while more := {number for number, others in used.items() if others & chosen} - chosen:
        chosen |= more

    def plain_call(self, *arguments):
        without_wrapper = self._options.get("no_cpython_wrapper")
        return self.function(*arguments) if without_wrapper or id(self) in chosen else call(self, *arguments)

    Kernel.__call__ = plain_call
    try:
        yield
    finally:
        Kernel.__call__ = call


def kernels_in(module):
    """The compiled loops that a module of the package holds."""
    from shoal.core.compiled import Kernel

    known = str(getattr(module, "__name__", "")).startswith("shoal")
    return [each for each in vars(module).values() if isinstance(each, Kernel)] if known else []


def kernels_called(kernel):
    """The compiled loops whose names a compiled loop uses."""
    codes = [kernel.function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    found = [kernel.function.__globals__.get(name) for code in codes for name in code.co_names]
    return [other for other in found if isinstance(other, type(kernel))]


def forget_compiled(modules):
    """Let the loops of some modules be compiled or loaded at their next call."""
    from shoal.core.compiled import Kernel

    for name in modules & set(sys.modules):
        for each in vars(sys.modules[name]).values():
            if isinstance(each, Kernel):
                each._dispatcher = None  # noqa: SLF001


def clear_caches():
    """Forget results that functions of the package have kept."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and str(each.__module__).startswith("shoal"):  # noqa: SLF001
            each.cache_clear()


def modules_that_reach(file, source):
    """The modules that import a file, directly or through others, and the file itself."""
    imported = re.compile(r"^\s*from (shoal\.[\w.]+) import", re.MULTILINE)
    uses = {module_name(path, source): set(imported.findall(path.read_text("utf-8"))) for path in source.rglob("*.py")}
    reaching = {module_name(file, source)}
    while more := {name for name, used in uses.items() if used & reaching} - reaching:
        reaching |= more
    return reaching


class ChangedModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from a changed syntax tree."""

    def __init__(self, module, file, tree):
        self.module, self.file, self.tree = module, file, tree

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002 - the signature of the library
        return importlib.util.spec_from_file_location(name, self.file, loader=self) if name == self.module else None

    def create_module(self, spec):  # noqa: ARG002
        return None

    def exec_module(self, module):
        exec(compile(self.tree, str(self.file), "exec"), module.__dict__)
