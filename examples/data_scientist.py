"""For the data scientist: protect a DataFrame, measure its effect on a model, and use the protection in a pipeline.

Needs the extra ``sklearn``. Run the cells one by one, or everything with ``python examples/data_scientist.py``.
"""

# %% A DataFrame; the result has the same type
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shoal
from shoal.sklearn import Microaggregator

people = shoal.datasets.patients(600).to_pandas()
release = shoal.protect(people, k=5, quasi=["age", "income", "height"], identifiers=["name"], unnamed="other")
assert isinstance(release.data, pd.DataFrame)

# %% Residual risk and data utility; figures as DataFrames
print(release.risk)
print(release.utility)
print(release.risk.table())
print(release.loss_table())

# %% A model that is trained on means of at least ten records
columns = ["age", "income", "height"]
X_train, X_test, y_train, y_test = train_test_split(people[columns], people["sex"], random_state=0)
plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
private = make_pipeline(Microaggregator(k=10), StandardScaler(), LogisticRegression()).fit(X_train, y_train)
print(
    f"accuracy on new records: {plain.score(X_test, y_test):.3f} plain, {private.score(X_test, y_test):.3f} with k = 10"
)

# %% The training data of the model are k-anonymous in these columns ...
step = Microaggregator(k=10).set_output(transform="pandas")
trained_on = step.fit_transform(X_train)
assert trained_on.value_counts().min() >= 10

# %% ... but new records that are assigned to the nearest representative need not be
print("smallest equivalence class among new records:", step.transform(X_test).value_counts().min())
