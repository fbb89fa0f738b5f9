"""Words in the names and labels of columns, and what name and type of a column say before its values are looked at.

English, German, French, Spanish, Italian, Dutch and the usual abbreviations of surveys and registers. A name is cut
into words at capitals, digits and signs (``birthPlace``, ``birth_place``); a word that is not in the list is searched
for listed words that it begins or ends with (``maritalcat``, ``lowbirthweight``), for the endings of diseases and
drugs (``appendicitis``), and is compared with listed words cut off (``indust``) or written without vowels (``hlth``).
Lists are about what a column means, never about single data sets.
"""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import narwhals as nw

from shoal.schema.columns import Column, Kind, Role, Schema

if TYPE_CHECKING:
    from shoal.tables import Table

SHORTEST_PART = 4
"""Letters that a listed word needs to be found inside a longer one."""
FEWEST_RECORDS = 20
"""Equal or different values of fewer records say nothing about a column."""
FEW_CODES = 12
"""Whole numbers with at most so many different values are codes, unless the name or the frequencies say otherwise."""
IDENTIFIER_SHARE = 0.2
"""The share of different values that the number or the name of a person has at least."""
SHORTEST_CORE = 3
"""Letters that a listed word needs where the rest of a word says nothing."""
MOST_REMOVED = 2
"""Parts that say nothing are removed from a word so often: ``currently`` is not about a rent."""
_MEDICAL = re.compile(
    r"\w{2,}(itis|osis|aemia|emia|noma|phoma|eloma|pathy|ectomy|ostomy|(?<!ch)otomy|plasty|scopy|uria|algia|plegia|paresis"
    r"|rrhea|rrhoea|rrhage|penia|trophy)"
    r"|\w{3,}(mycin|cillin|prazole|conazole|sartan|statin|olol|pril|dipine|mab|tinib|cycline|floxacin|parin|zepam"
    r"|oxetine|triptan|gliptin|profen)"
    r"|(cardio|neuro|gastro|hepat|nephr|haemat|hemat|haemo|hemo|immuno|derma|pulmo|thromb|hyper(?!link|market)|hypo(?!th)"
    r"|psych|ophthalm|bronch|arter|vascul|onco|cyto|leuko|erythro)\w{2,}"
)
"""Beginnings and endings of the names of diseases, operations and drugs."""


_MEMBERS = re.compile(
    r"(?:n|nr|no|num|number|kids?|child|children|persons?|adults?)[ _.]?"
    r"(?:(?:lt|le|gt|ge|under|over|below|above)[ _.]?\d{1,2}|\d{1,2}[ _.]\d{1,2})"
)
"""Names of the number of members of a household in an age group, such as ``kidslt6`` and ``num5_17``."""


class Meaning(StrEnum):
    """What a word in the name of a column says about it."""

    IDENTIFIER = "identifier"
    INSTITUTION = "institution"
    HEALTH = "health"
    CONFIDENTIAL = "confidential"
    QUASI = "quasi"
    WEIGHT = "sampling weight"
    HOUSEHOLD = "household"
    TECHNICAL = "technical"
    TIME = "time"
    COUNT = "count"
    CODE = "code"


@cache
def listed_words() -> tuple[dict[str, frozenset[Meaning]], tuple[str, ...]]:
    """Return the meanings of the listed words, and parts of names without a meaning, the longest first.

    Examples
    --------
    >>> meanings, affixes = listed_words()
    >>> sorted(map(str, meanings["salary"])), "avg" in affixes
    (['confidential'], True)
    """
    lists = tomllib.loads(files("shoal.schema").joinpath("word_lists.toml").read_text(encoding="utf-8"))
    affixes = tuple(sorted(lists.pop("affix").split(), key=lambda affix: (-len(affix), affix)))
    meanings: dict[str, frozenset[Meaning]] = {}
    for meaning, words in lists.items():
        for word in words.split():
            meanings[word] = meanings.get(word, frozenset()) | {Meaning(meaning)}
    return meanings, affixes


DURATIONS = frozenset({"time", "stop", "start", "tstart", "t", "week", "session", "round", "period"})
"""Words for times that are durations of a treatment in tables about health."""
WEAK = frozenset({
    "status", "condition", "stage", "grade", "node", "nodes", "arm", "side", "effect", "result", "results",
    "test", "score", "mark", "marks", "act", "pressure", "support", "pay", "bill", "party", "serum", "temp",
    "temperature", "time", "day", "stop", "start", "hand", "single", "major", "home", "house", "land", "size",
    "place", "date", "name", "names", "number", "account", "key", "event", "class", "type", "group", "visits",
    "exercise", "diet", "alt", "ast", "area", "depth", "net", "gross", "gain", "plan", "offer", "offers", "calls",
    "meaning", "quality", "checking", "fail", "retained", "retention", "useful", "looks", "appearance", "life",
    "fair", "ban", "message", "exposure", "harm", "threat", "old", "young", "pos", "exp", "ind", "technical",
    "tech", "admin", "primary", "plea", "contribution", "contributions", "prior", "shock", "progression",
    "compliance", "marker", "tube", "speech", "cond", "zone", "news", "discipline", "expected", "expect",
    "executive", "engagement", "charge", "charges", "rate", "rates", "error", "errors", "point", "points",
    "level", "position", "hire", "case", "cases",
})  # fmt: skip
"""Words that say something only if no other word of a name does: a marital status is not one of health."""


@cache
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a name or a label, in lower case.

    Examples
    --------
    >>> words_of("birthPlace_2"), words_of("RBC.Age.Group"), words_of("hh-id")
    (('birth', 'place'), ('rbc', 'age', 'group'), ('hhid', 'hh', 'id'))
    """
    spaced = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", text).lower()
    words = tuple(re.findall(r"[a-zäöüß]+", spaced))
    if _MEMBERS.fullmatch(spaced):
        words = ("members", *words)
    whole = re.sub(r"[^a-zäöüß0-9]+", "", spaced)
    return (whole, *words) if whole in listed_words()[0] and words != (whole,) else words


@cache
def meanings_of(word: str) -> frozenset[Meaning]:
    """Return what a word means; a word that is not listed has the meaning of a listed one that it begins or ends with.

    Examples
    --------
    >>> sorted(meanings_of("maritalcat")), sorted(meanings_of("age")), sorted(meanings_of("qwrt"))
    ([<Meaning.QUASI: 'quasi'>], [<Meaning.COUNT: 'count'>, <Meaning.QUASI: 'quasi'>], [])
    """
    meanings, _ = listed_words()
    if word in meanings:
        return meanings[word]
    if word.endswith("s") and word[:-1] in meanings:
        return meanings[word[:-1]]
    if len(word) >= 7 and _MEDICAL.fullmatch(word):
        return frozenset({Meaning.HEALTH})
    core = _part(word) or _core(word)
    return meanings[core] if core else _shortened(word) or _shortened_core(word)


def _part(word: str) -> str:
    """Return the listed word that a word begins or ends with, or an empty text.

    Where it does both, the end counts: the last part of a compound is what the whole is about.

    Examples
    --------
    >>> _part("maritalcat"), _part("verybirthweight"), _part("countrypride"), _part("qwrt")
    ('marital', 'birthweight', 'pride', '')
    """
    meanings, _ = listed_words()
    first = [listed for listed in meanings if len(listed) >= SHORTEST_PART and word.startswith(listed)]
    last = [listed for listed in meanings if len(listed) > SHORTEST_PART and word.endswith(listed)]
    begin, end = max(first, key=len, default=""), max(last, key=len, default="")
    return end if end and len(begin) + len(end) <= len(word) else begin or end


def _shortened_core(word: str) -> frozenset[Meaning]:
    """Return the meaning of what an abbreviation says without parts that say nothing, or nothing.

    Examples
    --------
    >>> sorted(map(str, _shortened_core("pcthlth"))), _shortened_core("abcd")
    (['health'], frozenset())
    """
    _, affixes = listed_words()
    for affix in affixes:
        if len(affix) >= SHORTEST_CORE:
            for rest in (word.removeprefix(affix), word.removesuffix(affix)):
                if SHORTEST_PART <= len(rest) < len(word) and rest not in affixes and (found := _shortened(rest)):
                    return found
    return frozenset()


def _shortened(word: str) -> frozenset[Meaning]:
    """Return the meaning of the listed words that a word abbreviates, if all of them suggest the same role.

    Names of eight letters cut words off, and abbreviations leave out vowels.

    Examples
    --------
    >>> sorted(map(str, _shortened("hlth"))), sorted(map(str, _shortened("mrtl"))), sorted(map(str, _shortened("wrks")))
    (['health'], ['quasi'], [])
    """
    meanings, affixes = listed_words()
    if len(word) < SHORTEST_PART or word in affixes:
        return frozenset()
    longer = [listed for listed in meanings if len(word) > SHORTEST_PART and listed.startswith(word)]
    if not longer and _consonants(word) == word:
        longer = [listed for listed in meanings if len(listed) > len(word) and _consonants(listed) == word]
    found = [meanings[listed] & _SUGGESTING for listed in longer]
    if not found or not all(found):
        return frozenset()
    health = all(Meaning.HEALTH in one for one in found)
    confidential = all(one & {Meaning.HEALTH, Meaning.CONFIDENTIAL} for one in found)
    quasi = all(one == {Meaning.QUASI} for one in found)
    meaning = Meaning.HEALTH if health else Meaning.CONFIDENTIAL if confidential else Meaning.QUASI if quasi else None
    return frozenset({meaning}) if meaning else frozenset()


_SUGGESTING = frozenset({Meaning.HEALTH, Meaning.CONFIDENTIAL, Meaning.QUASI})
"""What a word says about the role of a column."""


@cache
def _consonants(word: str) -> str:
    """Return a word without the vowels after its first letter.

    Examples
    --------
    >>> _consonants("health"), _consonants("employed")
    ('hlth', 'emplyd')
    """
    return word[:1] + re.sub(r"[aeiouäöü]", "", word[1:])


def _core(word: str) -> str:
    """Return the listed word of three letters or more that is left without affixes, or an empty text.

    Examples
    --------
    >>> _core("yrsmarr"), _core("lothinc"), _core("vps")
    ('marr', 'inc', '')
    """
    meanings, affixes = listed_words()
    if word in affixes:
        return ""
    left, seen = [(word, 0)], {word}
    while left:
        part, removed = left.pop(0)
        if part in meanings and part not in affixes:
            return part
        for affix in affixes:
            for rest in (part.removeprefix(affix), part.removesuffix(affix)):
                short = len(affix) == 1 and not (affix in _RELATIVES and rest == part[1:] and rest in _RELATED)
                shortest = SHORTEST_PART if short else SHORTEST_CORE
                if shortest <= len(rest) < len(part) and rest not in seen:
                    seen.add(rest)
                    left += [(rest, removed + 1)] if removed < MOST_REMOVED else []
    return ""


_RELATIVES = frozenset("fmhwpl")
"""Before a word: of the father, mother, husband, wife or parents, of the family or household; the logarithm."""
_RELATED = frozenset({"age", "inc", "edu", "occ", "job", "fam"})


def is_weak(word: str) -> bool:
    """Return whether a word says something only if no other word of a name does.

    Examples
    --------
    >>> is_weak("status"), is_weak("trtmnt"), is_weak("married")
    (True, True, False)
    """
    return word in WEAK or (
        word not in listed_words()[0] and bool(_shortened(word)) and meanings_of(word) == _shortened(word)
    )


def first_with(words: tuple[str, ...], meaning: Meaning) -> str | None:
    """Return the first word with a meaning, or None; weak words come last.

    Examples
    --------
    >>> first_with(("date", "of", "birth"), Meaning.QUASI), first_with(("abc",), Meaning.QUASI)
    ('birth', None)
    """
    found = [word for word in words if meaning in meanings_of(word)]
    return next((word for word in found if not is_weak(word)), found[0] if found else None)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSON = _words(
    "patient pat person pers subject subj member client participant respondent resp individual case customer insured "
    "beneficiary enrollee employee worker student pupil household hh h p family resident claimant donor user child "
    "infant mother father twin player driver voter inmate usubj sub respond woman man girl boy proband informant"
)
PERSON_WORDS = frozenset(word for word in _PERSON if len(word) > SHORTEST_CORE)
"""Words for a person, which name a number of persons where the column has different whole numbers."""
_ALONE = _words(
    "id ids uid uuid guid nr no key number mrn ssn pid patient person subject member client participant respondent "
    "individual customer household subj respond idcode idnum idnr idno codeid"
)
AMBIGUOUS = _words("no key number")  # also words, and the symbol of a gas
NUMBER_WORDS = _words("id ids uid uuid guid nr no key number num code")
_COMPOUND = frozenset(person + number for person in {*_PERSON, "pid"} for number in NUMBER_WORDS - {"no"})
NOT_PERSONS = _words(
    "hospital ward clinic doctor physician nurse school class teacher college university firm company employer "
    "industry plant branch shop store site center centre country state region county district city town village "
    "municipality area block tract zip postal post street house building room bed visit stay episode wave round time "
    "date day week month year line item order product model test sample batch lot code children kids siblings births "
    "cars phone telephone fax account tax group cluster strata stratum psu team party question form version datetime "
    "sch dist geo species plot movie film song book page license licence band award oscar ad job org organization "
    "organisation pac pcp provider pizza ticket flight department sector cusip address"
)


def named_as_person(name: str) -> bool:
    """Return whether the name of a column is that of a number of persons or households.

    Examples
    --------
    >>> [named_as_person(name) for name in ("PatientID", "pers_nr", "hhid", "patient_age", "ward_id", "no_of_cars")]
    [True, True, True, False, False, False]
    """
    words = plain_words(name)
    if words and words[0] in AMBIGUOUS and len(words) == 1 and re.search(r"\d", name):
        return False
    if not words or NOT_PERSONS & set(words[:-1]) or len(words) == 1:
        return len(words) == 1 and (words[0] in _ALONE or words[0] in _COMPOUND)
    if all(word in _PERSON or word in NUMBER_WORDS or word in _COMPOUND for word in words):
        return any(word in _ALONE or word in _COMPOUND for word in words)
    return words[-1] in _COMPOUND or words[-1] in NUMBER_WORDS - {"num", "code"}


def plain_words(name: str) -> list[str]:
    """Return the words of the name of a column in lower case, without digits."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def is_nested(series: nw.Series[Any]) -> bool:
    """Return whether a column holds lists, structs or objects, which libraries cannot compare."""
    return series.dtype.is_nested() or series.dtype == nw.Object


def looks_like_identifier(series: nw.Series[Any]) -> str | None:
    """Return the reason why a column may identify single persons, or None."""
    if is_nested(series):
        return None
    words = words_of(series.name)
    word = first_with(words, Meaning.IDENTIFIER)
    if word and not first_with(words, Meaning.INSTITUTION) and differs_enough(series):
        return f'its name says "{word}"'
    if series.dtype.is_float() or series.dtype.is_temporal() or len(series) < FEWEST_RECORDS:
        return None
    return "every value differs" if series.n_unique() == len(series) else None


def differs_enough(series: nw.Series[Any]) -> bool:
    """Return whether a column has as many different values as names or numbers of persons have."""
    if series.dtype == nw.Boolean or series.dtype.is_temporal():
        return False
    distinct = series.n_unique()
    text = isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum)
    return len(series) < FEWEST_RECORDS or distinct >= min(IDENTIFIER_SHARE * len(series), 20 if text else len(series))


def bare_schema(table: Table) -> Schema:
    """Return a schema without stated roles, in which every column has the kind that its type suggests."""
    columns = []
    for name in table.names:
        kind, order, reason = infer_kind(table.typed(name), table.value_labels(name))
        columns.append(Column(name, Role.OTHER, kind, order=order, reason=reason, role_stated=False))
    return Schema(tuple(columns))


def infer_kind(
    series: nw.Series[Any], value_labels: dict[Any, str] | None = None
) -> tuple[Kind, tuple[str, ...] | None, str]:
    """Return kind, order and reason that the type of a column suggests."""
    dtype = series.dtype
    if isinstance(dtype, nw.Enum):
        return Kind.ORDINAL, tuple(map(str, dtype.categories)), "its categories have an order"
    if value_labels and (not dtype.is_numeric() or _labels_are_categories(series, value_labels)):
        return Kind.NOMINAL, None, "its values have labels"
    if dtype.is_temporal():
        return Kind.NUMERIC, None, "dates and times compare like numbers"
    if dtype.is_numeric():
        return Kind.NUMERIC, None, "numbers"
    if dtype == nw.Boolean:
        return Kind.NOMINAL, None, "true or false"
    return Kind.NOMINAL, None, "text"


def _labels_are_categories(series: nw.Series[Any], labels: dict[Any, str]) -> bool:
    """Return whether labels name categories; labels for missing values or ends of a scale leave a column numeric."""
    from shoal.schema.value_patterns import MISSING_LABEL

    codes = {code for code, label in labels.items() if not MISSING_LABEL.search(str(label))}
    present = set(series.drop_nulls().unique().to_list()) - (set(labels) - codes)
    return bool(codes) and (not present or 2 * len(present & codes) >= len(present))
