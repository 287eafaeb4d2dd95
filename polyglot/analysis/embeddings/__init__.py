"""What the sentence embeddings of a run hold.

- `settings`: what is looked at, one YAML file each
- `retrieval`: does a sentence find its translation? all ordered pairs as a matrix
- `semantic`: do similarities agree with those that people gave?
- `probes`: what can be read off a vector by a linear classifier
- `pictures`: sentences of all languages on a plane, and what each head of the bridge attends to
- `analysis`: all of it for one run, with one load of the model; `page`: as Markdown, JSON and files
"""
