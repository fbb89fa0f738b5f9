#!/usr/bin/env bash
# dbt: one run before protection and one after it. Any exit code but 0 ends the job; it may be started again as it is.
set -euo pipefail
cd "$(dirname "$0")"
export DBT_PROFILES_DIR="$PWD"
mkdir -p target/stays

dbt run --quiet --select stays_for_release
shoal protect target/stays -k 5 --schema stays.toml --engine disk -o target/stays_safe --force --quiet
shoal verify target/stays_safe -k 5 --schema stays.toml --quiet
dbt run --quiet --select released
