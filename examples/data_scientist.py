"""For the data scientist: protect a DataFrame, ask what a model loses by it, and put the protection into a pipeline.

Needs the extra ``sklearn``. Run the cells one by one, or everything with ``python examples/data_scientist.py``.
"""

# %% A DataFrame; the same kind comes back
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shoal
from shoal.sklearn import Microaggregator

people = shoal.datasets.patients(600).to_pandas()
release = shoal.protect(people, k=5, quasi=["age", "income", "height"], identifiers=["name"])
assert isinstance(release.data, pd.DataFrame)

# %% What is left for an attacker, what for an analyst
print(release.risk)
print(release.utility)

# %% A model that never sees a single person's numbers
columns = ["age", "income", "height"]
X_train, X_test, y_train, y_test = train_test_split(people[columns], people["sex"], random_state=0)
plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
private = make_pipeline(Microaggregator(k=10), StandardScaler(), LogisticRegression()).fit(X_train, y_train)
print(
    f"accuracy on new people: {plain.score(X_test, y_test):.3f} plain, {private.score(X_test, y_test):.3f} with k = 10"
)

# %% What the model was trained on is k-anonymous in these columns ...
step = Microaggregator(k=10).set_output(transform="pandas")
trained_on = step.fit_transform(X_train)
assert trained_on.value_counts().min() >= 10

# %% ... but new records sent to the nearest representatives need not be
print("smallest class among new people:", step.transform(X_test).value_counts().min())
