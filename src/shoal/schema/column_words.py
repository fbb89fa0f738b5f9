"""Words in the names and labels of columns, and the role that each suggests.

English, German, French, Spanish, Italian, Dutch and the usual abbreviations of surveys and registers. A name is cut
into words at capitals, digits and signs (``birthPlace``, ``birth_place``); a word that is not in the list is searched
for listed words that it begins or ends with (``maritalcat``, ``lowbirthweight``). Lists are about what a column means,
never about single data sets.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

SHORTEST_PART = 4
"""Letters that a listed word needs to be found inside a longer one."""


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
