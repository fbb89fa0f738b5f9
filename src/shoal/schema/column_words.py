"""Words in the names and labels of columns, and what name and type of a column say before its values are looked at.

English, German, French, Spanish, Italian, Dutch and the usual abbreviations of surveys and registers. A name is cut
into words at capitals, digits and signs (``birthPlace``, ``birth_place``); a word that is not in the list is searched
for listed words that it begins or ends with (``maritalcat``, ``lowbirthweight``). Lists are about what a column means,
never about single data sets.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
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


_WORDS = {
    Meaning.IDENTIFIER: (
        "id ids uid uuid guid identifier name names surname firstname lastname forename fullname nachname vorname "
        "ssn nino passport email mail phone telephone telefon mobile fax iban account konto address adresse street "
        "strasse url ip username login license licence mrn seqn seqno caseid personnr persnr matrikel nom prenom "
        "nombre apellido apellidos cognome naam voornaam achternaam courriel correo telefono telefoon adresse "
        "direccion indirizzo adres rue calle dni nif bsn nir passeport"
    ),
    Meaning.INSTITUTION: (
        "clinic hospital ward department dept school college university company firm employer institution centre "
        "center site station bank shop office lab laboratory klinik schule firma practice provider product drug "
        "test item file variable brand event task study trial course team"
    ),
    Meaning.HEALTH: (
        "diagnosis diagnose disease illness icd icd10 condition symptom symptoms treatment treat therapy therapie "
        "medication medicine drug drugs dose dosage hiv aids blood glucose cholesterol chol ldl hdl bmi outcome "
        "pulse pressure bp sbp dbp diabetes cancer tumor tumour asthma infection pain depression anxiety mental "
        "psych psychiatric health healthy sick smoke smoker smoking smokes cigarette cigarettes alcohol drink "
        "drinks drinking substance abuse addiction pregnant pregnancy pregnancies abortion contraception "
        "birthcontrol surgery operation biopsy stage grade lesion lymph node nodes platelet platelets albumin "
        "bilirubin bili creatinine hemoglobin haemoglobin hgb sodium serum protein enzyme ast alt alk phos trig "
        "copper hepato ascites spiders edema liver kidney heart lung brain stroke hypertension bronchitis ulcer "
        "allergy allergies headache fever temperature temp covid vaccine vaccinated vaccination viral virus "
        "bacteria resistance arm placebo relapse recurrence remission survival death dead died deceased mortality "
        "status futime followup censor censored hospitalization hospitalisation hospitalizations admissions visits "
        "disability disabled limitation cesd sf36 mcs pcs gleason psa tstage tumorstage asa mallampati intubation "
        "bleeding cough exercise sedentary diet calories insulin triceps pedigree rx transplant radiologic esr "
        "cavitation improved improvement side effect adverse premie premature gestation gained lowbirthweight lbw "
        "apgar krank krankheit medikament blut gesundheit limit limited chronic emergency medicaid medicare "
        "steroid steroids prophylaxis inherit inherited genetic mutation sleep active activity physically strength "
        "helmet seatbelt calcium zinc iron vitamin hemophilia leukemia melanoma thickness ulceration invasion "
        "metastasis parity gestational newborn fetus survive survived alive karnofsky karno ecog trt baseline "
        "performancestatus histology celltype cell organ graft donor rejection infect injury accident fracture "
        "seizure seizures asthmatic wheeze cardiac coronary angina chd cvd mi attack sugar fasting fbs ecg thal "
        "oldpeak aspirin tablet pill vomiting nausea fatigue diagnostic diagnostico diagnosi maladie enfermedad "
        "malattia ziekte traitement tratamiento trattamento behandeling behandlung sante salud salute gezondheid "
        "fumeur fumador fumatore roker raucher grossesse embarazo hopital douleur dolor"
    ),
    Meaning.CONFIDENTIAL: (
        "salary salaries wage wages lwage earnings earn gehalt lohn revenue profit debt debts credit loan mortgage "
        "wealth asset assets savings expend expenditure expenditures capital tax taxes benefit benefits pension "
        "rent balance bill pay paid payment default insured insurance religion religious religiousness belief "
        "faith church party vote voted voting politics political ideology opinion attitude trust support approve "
        "approval conviction convicted crime criminal offence offense arrest arrested prison sentence sexual "
        "sexrisk partners affairs orientation score scores rating grade grades mark marks exam exams gpa sat act "
        "iq result results performance poverty welfare satisfaction happy happiness feeling behaviour behavior "
        "habit testscore rate rates expense expenses amount price cost costs stock option hike bonus records "
        "attrition involvement knowledge agree disagree views liberal conservative ideol democrat republican "
        "president government war policy euthanasia guns tolerance econ economic economy driving text tv "
        "television internet screen gambling cheating punish bully bullying depress lonely esteem stress worry "
        "worried answer answers response responses takeup risk averse personality openness vocab probability prob "
        "salaire salario stipendio salaris loon dette deuda debito schuld schulden religione geloof kirche "
        "partido partito partij impot impuesto dividend bonus uitkering pensioen rente zufriedenheit satisfaccion"
    ),
    Meaning.QUASI: (
        "income inc rinc linc einkommen stay demo population age mage fage xage agegroup alter sex gender "
        "geschlecht female male woman man birth born birthday birthdate birthplace dob geburt geburtsdatum gebdat "
        "date datum admission admitted discharge discharged zip zipcode postcode postalcode postal plz region city "
        "town village municipality gemeinde ort wohnort state bundesland county kreis country land nation district "
        "province prov canton area urban rural urbrur suburb south north east west northeast midwest smsa "
        "residence location place address race racegrp ethn ethnic ethnicity ethnicgroup black white hispanic hisp "
        "asian afam nonwhite minority nationality citizenship citizen immigrant immigration native foreign "
        "language mothertongue occupation occ occp occup job inst institution literacy literate farm beruf "
        "profession professional employment employed unemployed selfemp employer industry branche sector union "
        "experience exper tenure workclass education educ edu bildung school schooling degree graduate university "
        "college major student marital married marriage yearsmarried spouse divorced widowed single mother father "
        "mom parent parents child children childs kids siblings family famsize household housing house home "
        "homeless homeowner tenant relationship relat relation height weight ht hgt wt wgt lwt size shoe eye hair skin "
        "hand handed dominant car vehicle military veteran retired work working workstatus wrkstat hours payor "
        "seniority promotion manager role career travel distance commute level rank position coll marr maritl mar "
        "ed dad mum mam guardian boys girls livingarea region4 region5 lives living arrangement migrant tribe "
        "caste clan nativity origin ancestry dependents numdep dep owns owner ownership flat dwelling rooms "
        "players draft team patientclass category jobclass class sexe sexo sesso geslacht edad leeftijd "
        "naissance nacimiento nascita geboorte geboortedatum fecha codepostal commune ville ciudad citta comune "
        "gemeente plaats regione provincia provincie departement departamento pais paese nationalite nacionalidad "
        "nazionalita nationaliteit langue idioma lingua taal metier ocupacion professione beroep emploi empleo "
        "lavoro werk etudes educacion istruzione opleiding diplome titulo marie estadocivil civil familienstand "
        "staatsangehoerigkeit etatcivil enfants hijos figli kinderen kinder menage hogar famiglia gezin haushalt "
        "revenu ingresos reddito inkomen taille altura altezza lengte gewicht groesse"
    ),
    Meaning.WEIGHT: (
        "fnlwgt finalweight samplingweight sampleweight surveyweight pweight pwgt wgt dweight pspwght hhwt perwt "
        "wtssall hochrechnung hochrechnungsfaktor gewichtung"
    ),
    Meaning.HOUSEHOLD: "household hh haushalt hid hhid hhnr householdid",
    Meaning.TECHNICAL: (
        "version index rownames rowname record wave batch file source interviewer interview questionnaire imputed "
        "flag random randomization randomisation fold split sample subsample unnamed weekday orderset"
    ),
    Meaning.TIME: "year yr time date day month week wave visit round period start tstart stop t quarter session",
    Meaning.COUNT: (
        "number num n count counts total years yrs yr months days weeks hours minutes age times freq size amount "
        "siblings kids children childs visits visit admissions pregnancies persons members dependents attempts "
        "failures drinks height weight income wage score points units doses nodes distance temperature temp price "
        "rate percent share quantity volume duration experience exper tenure nvisits education educ school"
    ),
    Meaning.CODE: (
        "code codes fips nace isco isic sic naics icd occ10 occ census zip zipcode postcode postalcode plz tract "
        "region state county country district province industry class category type group grp cat kind party "
        "species"
    ),
}
_MEANINGS: dict[str, set[Meaning]] = {}
for _meaning, _list in _WORDS.items():
    for _word in _list.split():
        _MEANINGS.setdefault(_word, set()).add(_meaning)

DURATIONS = frozenset({"time", "stop", "start", "tstart", "t", "week", "session", "round", "period"})
"""Words for times that are durations of a treatment in tables about health."""
WEAK = frozenset({
    "status", "condition", "stage", "grade", "node", "nodes", "arm", "side", "effect", "result", "results",
    "test", "score", "mark", "marks", "act", "pressure", "support", "pay", "bill", "party", "serum", "temp",
    "temperature", "time", "day", "stop", "start", "hand", "single", "major", "home", "house", "land", "size",
    "place", "date", "name", "names", "number", "account", "key", "event", "class", "type", "group", "visits",
    "exercise", "diet", "alt", "ast",
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
    whole = re.sub(r"[^a-zäöüß0-9]+", "", spaced)
    return (whole, *words) if whole in _MEANINGS and words != (whole,) else words


@cache
def meanings_of(word: str) -> frozenset[Meaning]:
    """Return what a word means; a word that is not listed has the meaning of a listed one that it begins or ends with.

    Examples
    --------
    >>> sorted(meanings_of("maritalcat")), sorted(meanings_of("age")), sorted(meanings_of("qwrt"))
    ([<Meaning.QUASI: 'quasi'>], [<Meaning.COUNT: 'count'>, <Meaning.QUASI: 'quasi'>], [])
    """
    if word in _MEANINGS:
        return frozenset(_MEANINGS[word])
    if word.endswith("s") and word[:-1] in _MEANINGS:
        return frozenset(_MEANINGS[word[:-1]])
    parts = [listed for listed in _MEANINGS if len(listed) >= SHORTEST_PART and word.startswith(listed)]
    parts = parts or [listed for listed in _MEANINGS if len(listed) > SHORTEST_PART and word.endswith(listed)]
    return frozenset(_MEANINGS[max(parts, key=len)]) if parts else frozenset()


def first_with(words: tuple[str, ...], meaning: Meaning) -> str | None:
    """Return the first word with a meaning, or None; weak words come last.

    Examples
    --------
    >>> first_with(("date", "of", "birth"), Meaning.QUASI), first_with(("abc",), Meaning.QUASI)
    ('birth', None)
    """
    found = [word for word in words if meaning in meanings_of(word)]
    return next((word for word in found if word not in WEAK), found[0] if found else None)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSON = _words(
    "patient pat person pers subject subj member client participant respondent individual case customer insured "
    "beneficiary enrollee employee worker student pupil household hh h p family resident claimant donor user child "
    "infant mother father twin player driver voter inmate usubj"
)
_ALONE = _words(
    "id ids uid uuid guid nr no key number mrn ssn pid patient person subject member client participant respondent "
    "individual customer household subj"
)
AMBIGUOUS = _words("no key number")  # also words, and the symbol of a gas
NUMBER_WORDS = _words("id ids uid uuid guid nr no key number num code")
_COMPOUND = frozenset(person + number for person in _PERSON for number in NUMBER_WORDS - {"no"})
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
