"""Small changes of the source: which are possible in a file, and the file with one of them."""

import ast

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
         "ceil": "floor", "floor": "ceil", "argmin": "argmax", "argmax": "argmin"}  # fmt: skip


class Places(ast.NodeVisitor):
    """Collect the changes that are possible, outside of docstrings, annotations, error texts and constant texts."""

    def __init__(self):
        self.found = []

    def add(self, node, name):
        self.found.append((len(self.found), node, name))

    def visit_FunctionDef(self, node):
        if node.name in {"__repr__", "_repr_html_", "__str__"}:
            return
        for default in [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node):
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node):
        self.add(node, "an error left out")

    def visit_JoinedStr(self, node):
        pass

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        if "progress" not in ast.unparse(node):
            self.add(node, "a statement left out")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if type(node.op) in ARITHMETIC:
            self.add(node, "another operation")
        self.generic_visit(node)

    def visit_Compare(self, node):
        self.add(node, "another comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node):
        texts = any(
            isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
            for part in (node.left, node.right)
        )
        if type(node.op) in ARITHMETIC and not texts:
            self.add(node, "another operation")
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        self.add(node, "and exchanged with or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        self.add(node, "a sign or a negation left out")
        self.generic_visit(node)

    def visit_If(self, node):
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.add(node, "a condition that never holds")
            self.generic_visit(node)

    def visit_IfExp(self, node):
        self.add(node, "a choice that is always the second")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add(node, "true exchanged with false")
        elif isinstance(node.value, int | float):
            self.add(node, "another number")

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in NAMES:
            self.add(node, "smallest exchanged with largest")
        if name in {"method", "field", "TypeVar", "cast"}:
            return
        self.generic_visit(node)


def change(node):
    """Change a node in place; return what replaces a statement, or None."""
    match node:
        case ast.Raise() | ast.Expr():
            return ast.copy_location(ast.Pass(), node)
        case ast.Compare():
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        case ast.BinOp() | ast.AugAssign():
            node.op = ARITHMETIC[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If() | ast.IfExp():
            node.test = ast.copy_location(ast.Constant(False), node.test)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value = node.value + 1
        case ast.Call(func=ast.Attribute()):
            node.func.attr = NAMES[node.func.attr]
        case ast.Call():
            node.func.id = NAMES[node.func.id]
    return None


class Replace(ast.NodeTransformer):
    """Put another node in the place of one."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def places(text):
    """The places of a file that can be changed."""
    tree = ast.parse(text)
    collected = Places()
    for statement in tree.body:
        collected.visit(statement)
    return tree, collected.found


def mutated(text, number):
    """The syntax tree of a file with one change, and where and what it is."""
    tree, found = places(text)
    _, node, name = found[number]
    line, before = node.lineno, ast.unparse(node).splitlines()[0]
    if isinstance(node, ast.UnaryOp):
        tree = Replace(node, node.operand).visit(tree)
        after = ast.unparse(node.operand)
    else:
        other = change(node)
        if other is not None:
            tree = Replace(node, other).visit(tree)
        after = ast.unparse(other if other is not None else node).splitlines()[0]
    return ast.fix_missing_locations(tree), {"line": line, "change": name, "before": before[:90], "after": after[:90]}
