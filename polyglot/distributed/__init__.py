"""Several processes that train one run: how they start, talk, and notice that one is gone."""
