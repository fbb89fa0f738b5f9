"""Generated tables, and loaders of the reference data of the literature. No data are downloaded."""

from shoal.datasets.household_table import households
from shoal.datasets.nominal_tables import (
    adult_categories,
    adult_numbers,
    category_codes,
    matching_instance,
    nominal_problems,
)
from shoal.datasets.patient_table import EDUCATION_ORDER, patients
from shoal.datasets.planar import planar_instance
from shoal.datasets.reference import REFERENCE, load, reference_path
from shoal.datasets.stay_table import stays
from shoal.datasets.synthetic import simc, simu

__all__ = [
    "EDUCATION_ORDER",
    "REFERENCE",
    "adult_categories",
    "adult_numbers",
    "category_codes",
    "households",
    "load",
    "matching_instance",
    "nominal_problems",
    "patients",
    "planar_instance",
    "reference_path",
    "simc",
    "simu",
    "stays",
]
