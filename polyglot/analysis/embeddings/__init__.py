"""Analysis of the sentence embeddings of a run.

- `config`: settings of the analysis, one YAML file
- `analysis`: all measurements of one run; `vectors` and `parallel_texts`: their input
- `retrieval`: retrieval of translations, for all ordered pairs of languages
- `semantic_similarity`: correlation of cosine similarity with human scores
- `probing`: linear probes
- `sentence_map`: sentences of all languages on a plane
- `head_attention`: attention of the bridge heads
- `page`: Markdown, JSON, CSV and PNG files of one run; `comparison`: tables of several runs
"""
