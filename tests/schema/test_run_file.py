"""Run files: every field of a plan survives, whatever its value; every mistake in a file is one sentence."""

import re
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, ShoalError
from shoal.flow.resolved import FLOW_ALGORITHMS
from shoal.schema import field_values, run_file
from shoal.schema.columns import ALLOWED_RECODES
from shoal.schema.field_values import from_plain, stored_fields, to_plain
from shoal.schema.requirements import Diversity, PersonOptions
from shoal.schema.run_file import format_run, parse_run

FOLDER = Path()
TREE = shoal.Hierarchy([("x", "xy"), ("y", "xy"), ("z", "zz")])


def base():
    """A run with every part present, in which most fields can be changed."""
    schema = shoal.Schema(
        (
            shoal.Column("age", shoal.Role.QUASI, shoal.Kind.NUMERIC),
            shoal.Column("job", shoal.Role.QUASI, shoal.Kind.NOMINAL),
            shoal.Column("grade", shoal.Role.CONFIDENTIAL, shoal.Kind.ORDINAL),
            shoal.Column("weight", shoal.Role.OTHER, shoal.Kind.NUMERIC),
            shoal.Column("person", shoal.Role.UNIT, shoal.Kind.NOMINAL),
        )
    )
    call = shoal.MethodCall("auto", resolved=(shoal.ResolvedMethod("mdav", shoal.get_method("mdav").version),))
    plan = shoal.Plan(schema, shoal.Requirements(k=3, l=2), call)
    return shoal.RunFile(plan, shoal.InputFiles(Path("people.csv")), shoal.OutputFiles(Path("safe.csv")))


EXAMPLES = {  # where the type alone does not give a value that the class accepts
    ("OutputFiles", "language"): ["de"],
    ("Schema", "strata"): [("weight",)],
    ("Schema", "known"): [("weight",)],
    ("Schema", "keep"): [("age <= weight",)],
    ("Schema", "together"): [("age,weight",)],
    ("Schema", "sampling_weight"): ["weight"],
    ("Column", "name"): ["a b", 'quo"te', "Größe"],
    ("Column", "order"): [("low", "high")],
    ("Column", "hierarchy"): ["trees/jobs.csv", "auto", {"xy": ["x", "y"], "zz": {"z": ["z1"]}}, TREE],
    ("Column", "before"): [("top 90", 'map {"a": "b"}'), ("rare 5 as other",), ("code",)],
    ("Column", "after"): [("round 100",)],
    ("Requirements", "c"): [],  # needs l_kind=recursive: see below
    ("Requirements", "k"): [2, 7],
    ("MethodCall", "name"): ["mdav"],
    ("MethodCall", "time_limit"): [12.5],
    ("ResolvedMethod", "blocks"): [(0, 2)],
    ("Plan", "moment_bounds"): [],  # needs keep_moments: see below
    ("OutputFiles", "engine"): ["disk"],
}


def examples(kind, field, hint):
    """Return values of a field other than its default, from its type unless they are listed."""
    if (kind.__name__, field.name) in EXAMPLES:
        return EXAMPLES[kind.__name__, field.name]
    default = None if field.default is MISSING else field.default
    return [value for value in of_type(hint) if value != default]


def of_type(hint):
    if get_origin(hint) in {Union, UnionType}:
        return [value for part in get_args(hint) for value in of_type(part)]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return list(hint)
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if get_origin(hint) is tuple:
        return [(value,) for value in of_type(get_args(hint)[0])]
    plain = {bool: [True, False], int: [7, 2], float: [0.5, 1e-9, 3.0], str: ["a text"], Path: [Path("folder/x.html")]}
    mapping = {"number": 0.1, "list": ["a", "b"], "nothing": None, "flag": True, "inside": {"a": 1}}
    return plain.get(hint, [mapping] if get_origin(hint) is not None and "Mapping" in str(hint) else [])


def variations(value):
    """Yield (class, field) and the value with that field changed, for all fields of all dataclasses inside it."""
    for name, (field, hint) in stored_fields(type(value)).items():
        inside = getattr(value, name)
        changed = []
        if is_dataclass(inside):
            changed = list(variations(inside))
        elif isinstance(inside, tuple) and inside and is_dataclass(inside[0]):
            changed = [
                (key, None if new is None else (*inside[:position], new, *inside[position + 1 :]))
                for position, item in enumerate(inside)
                for key, new in variations(item)
            ]
        else:
            changed = [((type(value), name), example) for example in examples(type(value), field, hint)]
        for key, new in changed:
            try:
                yield key, None if new is None else replace(value, **{name: new})
            except ShoalError:
                yield key, None


def same(first, second):
    """Whether two values are equal; trees are compared by their paths, lists with tuples."""
    return to_plain(first) == to_plain(second) and repr(type(first)) == repr(type(second))


def value_at(run, key):
    """Return all values of a field of a class inside a run."""
    kind, name = key
    found = [getattr(run, name)] if isinstance(run, kind) else []
    for entry in fields(run):
        inside = getattr(run, entry.name, None)
        for item in inside if isinstance(inside, tuple) else [inside]:
            if is_dataclass(item):
                found += value_at(item, key)
    return found


def person_runs():
    """Return runs of plans for whole persons, each with one option that is not its default."""
    plan = base().plan
    histories = replace(plan.requirements, of="histories")
    columns = (replace(plan.schema.columns[0], constant=True), *plan.schema.columns[1:])
    nested = replace(plan.schema, columns=columns)
    cases = {
        "slots": replace(plan, requirements=histories, persons=PersonOptions(slots="first")),
        "suppressed_weight": replace(plan, requirements=histories, persons=PersonOptions(suppressed_weight=2.5)),
        "weighting": replace(plan, schema=nested, persons=PersonOptions(weighting="persons")),
    }
    return [((PersonOptions, name), replace(base(), plan=changed)) for name, changed in cases.items()]


def check_every_field():
    accepted = {}
    recursive = replace(base().plan.requirements, l_kind=Diversity.RECURSIVE, c=3.0)
    further = [((shoal.Requirements, "c"), replace(base(), plan=replace(base().plan, requirements=recursive)))]
    moments = replace(base().plan, keep_moments=True, moment_bounds={"age": (0.0, 110.0)})
    further += [((shoal.Plan, "moment_bounds"), replace(base(), plan=moments)), *person_runs()]
    for key, run in [*variations(base()), *further]:
        accepted.setdefault(key, 0)
        if run is None or value_at(run, key) == value_at(base(), key):
            continue
        again = parse_run(format_run(run, FOLDER), FOLDER)
        for before, after in zip(value_at(run, key), value_at(again, key), strict=True):
            assert same(before, after), key
        assert same(run, again), key
        accepted[key] += 1
    without = [f"{kind.__name__}.{name}" for (kind, name), count in accepted.items() if not count]
    assert not without, f"no value of these fields was tried; add some to EXAMPLES: {without}"
    return accepted


def test_every_field_of_every_class_survives_with_a_value_that_is_not_its_default():
    found = check_every_field()
    for kind in (shoal.Schema, shoal.Column, shoal.Requirements, shoal.MethodCall, shoal.ReadOptions, shoal.Plan):
        listed = {name for owner, name in found if owner is kind}
        nested = {"schema", "columns", "statistics", "requirements", "method", "reading", "resolved", "persons"}
        assert listed == set(stored_fields(kind)) - nested


@pytest.mark.parametrize(("kind", "name"), [("Column", "time"), ("Requirements", "beta"), ("Plan", "sums")])
def test_the_test_above_finds_a_field_that_is_not_stored(monkeypatch, kind, name):
    def forgetful(value):
        plain = to_plain(value)
        for part in ([plain], plain["schema"]["columns"], [plain["requirements"]]):
            if (part[0] is plain) == (kind == "Plan"):
                for entry in part:
                    entry.pop(name, None)
        return plain

    monkeypatch.setattr(run_file, "to_plain", lambda value: forgetful(value) if isinstance(value, shoal.Plan)
                        else to_plain(value))  # fmt: skip
    with pytest.raises(AssertionError, match=name):
        check_every_field()


def test_a_field_of_a_type_that_cannot_be_stored_is_an_error_and_not_lost():
    @dataclass(frozen=True)
    class WithSet:
        names: frozenset = frozenset({"a"})

    @dataclass(frozen=True)
    class WithNone:
        number: int | None = 3

    field_values.stored_fields(WithSet)
    with pytest.raises(TypeError, match="cannot be stored"):
        to_plain(WithSet())
    with pytest.raises(TypeError, match="cannot be stored"):
        from_plain(frozenset, [], "names")
    with pytest.raises(TypeError, match="not its default"):
        to_plain(WithNone(None))


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TREES = st.recursive(
    st.lists(NAMES, min_size=1, max_size=3),
    lambda inside: st.dictionaries(NAMES, inside, min_size=1, max_size=3),
    max_leaves=6,
).filter(lambda tree: isinstance(tree, dict) and tree != {"none": True})
NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**70), 2**70)
OPTIONS = st.dictionaries(NAMES, st.none() | st.booleans() | NUMBERS | NAMES | st.lists(NAMES | NUMBERS), max_size=4)


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(list(shoal.Kind)))
    optional = st.none() | st.sampled_from(sorted(ALLOWED_RECODES[kind]))
    return shoal.Column(
        draw(NAMES), draw(st.sampled_from([shoal.Role.QUASI, shoal.Role.CONFIDENTIAL, shoal.Role.OTHER])), kind,
        kind_stated=draw(st.booleans()), weight=draw(st.floats(0, 1e300)),
        order=draw(st.none() | st.lists(NAMES, unique=True, max_size=4).map(tuple)), recode=draw(optional),
        missing=draw(st.none() | st.sampled_from(list(shoal.Missing))),
        hierarchy=draw(st.none() | st.just("auto") | TREES | st.just(TREE) | st.just("folder/jobs.csv")),
        reason=draw(NAMES), role_stated=draw(st.booleans()),
    )  # fmt: skip


@st.composite
def runs(draw):
    found = tuple(draw(st.lists(columns(), min_size=1, max_size=4, unique_by=lambda column: column.name)))
    plain = [column.name for column in found if column.role != shoal.Role.QUASI]
    names = st.lists(st.sampled_from(plain), unique=True) if plain else st.just([])
    numbers = st.none() | st.floats(0.001, 1)
    k = draw(st.integers(2, 10**6))
    try:
        schema = shoal.Schema(
            found, strata=tuple(draw(names)), missing=draw(st.sampled_from(list(shoal.Missing))),
            known=tuple(draw(names)), unnamed=draw(st.none() | st.sampled_from(list(shoal.Role)[4:])),
        )  # fmt: skip
        needed = shoal.Requirements(
            k=k, max_size=draw(st.none() | st.integers(k, 2**70)), global_recoding=draw(st.booleans()), t=draw(numbers),
            alpha=draw(numbers), beta=draw(numbers), delta=draw(numbers), p=draw(st.none() | st.integers(1, 9)),
        )  # fmt: skip
        resolved = shoal.ResolvedMethod(draw(NAMES), draw(st.none() | st.integers(1, 9)), draw(OPTIONS), draw(NAMES))
        call = shoal.MethodCall(draw(NAMES), draw(OPTIONS), draw(st.integers(0, 2**63 - 1)), resolved=(resolved,))
        reading = shoal.ReadOptions(na_values=tuple(draw(st.lists(NAMES, max_size=3))))
        plan = shoal.Plan(schema, needed, call, draw(st.sampled_from(["input", "full", 0, 15])), reading=reading)
    except ShoalError:
        assume(False)
    accept = shoal.Accepted(*(draw(st.booleans()) for _ in range(3)))
    return shoal.RunFile(plan, shoal.InputFiles(Path("a.csv")), shoal.OutputFiles(Path("b/c.csv")), accept)


@given(run=runs())
def test_random_plans_are_read_back_as_they_were(run):
    text = format_run(run, Path("d"))
    again = parse_run(text, Path("d"))
    assert same(run, again)
    assert again.plan.digest() == run.plan.digest()
    assert format_run(again, Path("d")) == text


def test_the_digest_of_a_plan_depends_on_every_field_that_determines_a_release():
    reasons = {"reason", "role_stated", "kind_stated", "unnamed"}
    before = base().plan.digest()
    for (kind, name), run in variations(base()):
        if run is None or kind in {shoal.InputFiles, shoal.OutputFiles, shoal.Accepted, shoal.ResolvedMethod}:
            continue
        changed = run.plan.digest() != before
        same_value = value_at(run, (kind, name)) == value_at(base(), (kind, name))
        assert changed == (name not in reasons and not same_value), (kind, name)


def test_paths_are_relative_to_the_directory_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "deep").symlink_to(tmp_path)
    run = base()
    first = replace(run.plan.schema.columns[0], hierarchy="trees/age.csv")
    schema = replace(run.plan.schema, columns=(first, *run.plan.schema.columns[1:]))
    run = replace(run, plan=replace(run.plan, schema=schema))
    shoal.save_run(run, "runs/a.toml")
    text = (tmp_path / "runs" / "a.toml").read_text(encoding="utf-8")
    assert 'file = "../people.csv"' in text
    assert 'hierarchy = "../trees/age.csv"' in text
    assert same(shoal.load_run("runs/a.toml"), run)
    monkeypatch.chdir(tmp_path / "runs")
    assert shoal.load_run("a.toml").input.file == Path("../people.csv")
    absolute = replace(run, input=shoal.InputFiles(tmp_path / "people.csv"))
    shoal.save_run(absolute, "b.toml")
    assert shoal.load_run("b.toml").input.file == tmp_path / "people.csv"
    monkeypatch.chdir(tmp_path)  # beyond a link, .. is another directory: the path is stored as an absolute one
    shoal.save_run(run, "runs/deep/c.toml")
    found = shoal.load_run("runs/deep/c.toml").input.file
    assert found.resolve() == tmp_path / "people.csv"


def test_a_run_file_is_private_and_replaces_no_input(tmp_path):
    run = replace(base(), input=shoal.InputFiles(tmp_path / "people.csv"))
    (tmp_path / "people.csv").write_text("age\n1\n")
    path = tmp_path / "release.toml"
    path.write_text("old")
    path.chmod(0o644)
    shoal.save_run(run, path, overwrite=True)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(shoal.errors.FileProblem, match="the output is the input"):
        shoal.save_run(run, tmp_path / "people.csv", overwrite=True)


def test_what_cannot_be_stored_is_one_sentence(tmp_path):
    def groups(points, k):
        return None

    run = base()
    with pytest.raises(ParameterError, match="this one is a function"):
        shoal.save_run(replace(run, plan=replace(run.plan, method=shoal.MethodCall(groups))), tmp_path / "a.toml")
    with pytest.raises(ParameterError, match="not UTF-8"):
        shoal.save_run(replace(run, input=shoal.InputFiles("a\udcff.csv")), tmp_path / "a.toml")
    deep: Any = ["a"]
    for _ in range(900):
        deep = {"b": deep}
    column = replace(run.plan.schema.columns[1], hierarchy=deep)
    plan = replace(run.plan, schema=shoal.Schema((column,)), requirements=shoal.Requirements(k=2))
    with pytest.raises(ParameterError, match="nested too deeply"):
        shoal.save_run(replace(run, plan=plan), tmp_path / "a.toml")
    with pytest.raises(ParameterError, match="path of a file"):
        shoal.InputFiles(3)
    assert list(tmp_path.iterdir()) == []


MISTAKES = {  # what is replaced in a correct file: by what, and what the sentence says
    "version = 1\nshoal": [
        ("shoal", "has no version"),
        ("version = 2\nshoal", "it has version 2, and this Shoal reads version 1"),
        ('version = "1"\nshoal', "version must be an integer"),
        ("version = true\nshoal", "version must be an integer"),
    ],
    "[requirements]": [("[requirments]", 'unknown entry "requirments"; did you mean "requirements"')],
    "k = 3": [
        ("kk = 3", 'requirements has an unknown entry "kk"; did you mean "k"?'),
        ('k = "3"', "requirements.k must be an integer, not a text"),
        ("k = 3.0", "requirements.k must be an integer, not a number"),
        ("k = true", "requirements.k must be an integer, not true or false"),
        ("", 'requirements has no entry "k", which is needed'),
        ("k = 1", "k must be at least 2"),
        ("k = 2020-01-01", "not a date or time"),
    ],
    'role = "unit"': [('role = "unti"', 'role="unti" is not known; did you mean "unit"?')],
    'kind = "ordinal"\n': [
        ("", 'schema.columns[3] has no entry "kind", which is needed'),
        ("kind = []\n", "schema.columns[3].kind must be a text, not an empty list"),
        ('kind = "ordinal"\nhierarchy = 5\n', "hierarchy must be a file"),
        ('kind = "ordinal"\nhierarchy = [["a"], 5]\n', "hierarchy must be a file"),
        ('kind = "ordinal"\norder = "low"\n', "schema.columns[3].order must be a list, not a text"),
        ('kind = "ordinal"\norder = [1]\n', "schema.columns[3].order[1] must be a text, not an integer"),
    ],
    'sums = "rounded"': [('sums = "round"', 'sums="round" is not known; did you mean "rounded"?')],
    'decimals = "input"': [
        ("decimals = 16", "decimals=16 is not possible"),
        ("decimals = 1.5", 'decimals must be an integer or "input" or "full", not a number'),
    ],
    'name = "mdav"': [('name = "mdv"', 'no method "mdv"; did you mean "mdav"?'), ("name = 3", "must be a text")],
    'reason = ""\nblocks': [('reason = ""\nversion = 8\nblocks', "used mdav@8, and this Shoal has mdav@1")],
    "options = {}\nreason": [("options = {gama = 3}\nreason", 'has no option "gama"')],
    'file = "people.csv"': [('file = ""', "input.file must be the path of a file"), ("", 'input has no entry "file"')],
    "[accept]\nloss = false": [("[accept]\nloss = 0", "accept.loss must be true or false, not an integer")],
    "strata = []": [('strata = ["nope"]', 'column "nope" is not in the table'), ("strata = [", "not valid TOML")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "sentence"), [(before, *case) for before, cases in MISTAKES.items() for case in cases]
)
def test_every_mistake_in_a_run_file_is_one_sentence(tmp_path, before, after, sentence):
    path = tmp_path / "release.toml"
    correct = format_run(base(), FOLDER)
    if "version = 8" in after:
        correct = correct.replace("version = 1\noptions", "options")
    assert correct.count(before) >= 1
    path.write_text(correct.replace(before, after), encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        shoal.load_run(path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_algorithms_of_the_stages_that_are_no_registered_methods_are_known_to_run_files():
    stages = Path(shoal.__file__).parent / "flow"
    texts = [path.read_text(encoding="utf-8") for path in stages.glob("*.py")]
    stated = {name for text in texts for name in re.findall(r'MethodRun\(\s*f?"([\w-]+)"', text)}
    assert "previous" in stated
    assert stated == {identity.partition("@")[0] for identity in FLOW_ALGORITHMS}


def test_files_that_are_no_run_files(tmp_path):
    path = tmp_path / "release.toml"
    with pytest.raises(shoal.errors.FileProblem, match="does not exist"):
        shoal.load_run(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(shoal.errors.FileProblem, match="not UTF-8"):
        shoal.load_run(path)
    for text, sentence in (("", "has no version"), ("a = " + "[" * 5000, "nested too deeply|not valid TOML")):
        path.write_text(text)
        with pytest.raises(ParameterError, match=sentence):
            shoal.load_run(path)
    with pytest.raises(shoal.errors.FileProblem):
        shoal.load_run(tmp_path)
