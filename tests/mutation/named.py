"""Mutants by hand, each a fault that tests once did not notice: file, source, replacement."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.operators import Mutant, make_mutant

NAMED: list[tuple[str, str, str]] = [
    (  # the query cancels in the softmax of `mlp`
        "polyglot/layers/attention.py",
        "torch.tanh(self.query(queries).unsqueeze(2) + keys.unsqueeze(1))",
        "torch.tanh(self.query(queries).unsqueeze(2)) + torch.tanh(keys.unsqueeze(1))",
    ),
    (  # the hash of an averaged checkpoint is that of its oldest member
        "polyglot/runs/averaging.py",
        "json.dumps(files_of_checkpoints)",
        "json.dumps(files_of_checkpoints[:1])",
    ),
    (  # `weighted` ignores `copy_weight`
        "polyglot/tasks/schedule.py",
        "return task.weight * weight",
        "return weight",
    ),
    (  # the randomness of a batch does not depend on the seed of the run
        "polyglot/training/trainer.py",
        "(self.run.config.seed, step, batch_index, *purpose)",
        "(step, batch_index, *purpose)",
    ),
    (  # parameters are compared one update early
        "polyglot/training/trainer.py",
        "(step + 1) % every",
        "step % every",
    ),
    (  # Muon does not get its momentum
        "polyglot/optim/optimizers.py",
        "momentum=config.momentum,\n            adjust_lr_fn",
        "adjust_lr_fn",
    ),
    (  # the bias of 1 is on the cell gate
        "polyglot/model/initialization.py",
        "slice(lstm.hidden_size, 2 * lstm.hidden_size)",
        "slice(2 * lstm.hidden_size, 3 * lstm.hidden_size)",
    ),
    (  # the embeddings of a shared decoder are not scaled
        "polyglot/model/embedding.py",
        "config.size**0.5 if config.scale else 1.0",
        "config.size**0.5 if config.scale and not language_token else 1.0",
    ),
    (  # no gradient through the mean of the batch
        "polyglot/model/losses.py",
        "mean = rows.mean(dim=0)",
        "mean = rows.mean(dim=0).detach()",
    ),
    (  # length penalty without the end of the sentence
        "polyglot/decoding/beam_search.py",
        "self.config.penalty(limit + 1)",
        "self.config.penalty(limit)",
    ),
    (  # the tokenizer of a condition overrides an explicit one
        "polyglot/evaluation/metrics.py",
        "if tokenizer is None:",
        "if tokenizer is None or condition.tokenizer is not None:",
    ),
    (  # translations of different sources are compared if the references are equal
        "polyglot/evaluation/significance.py",
        "texts.add((source_text, reference_text))",
        "texts.add(reference_text)",
    ),
    (  # signatures without those of pivot translation
        "polyglot/evaluation/score_matrix.py",
        "for cell in self.all_cells:",
        "for cell in self.cells.values():",
    ),
    (  # the empty translation of a blank source is an error
        "polyglot/evaluation/output_errors.py",
        "not line.strip() and bool(source.strip())",
        "not line.strip()",
    ),
    (  # vectors are rounded before they are normalised
        "polyglot/inference/embeddings/encoder.py",
        "vectors = normalized(batch.vectors) if normalize else batch.vectors",
        "vectors = cast(batch.vectors, precision).float()\n"
        "            vectors = normalized(vectors) if normalize else vectors",
    ),
    (  # a fractional weight is truncated
        "polyglot/data/corpus_weights.py",
        "round(rest * len(rows))",
        "int(rest * len(rows))",
    ),
]


def find_named(root: Path, path: str, original: str, replacement: str) -> Mutant:
    """Mutant that replaces a piece of source which occurs exactly once in the file."""
    source = (root / path).read_text(encoding="utf-8")
    if source.count(original) != 1:
        count = source.count(original)
        raise ValueError(f"{path}: {original!r} occurs {count} times; it has to occur once")
    start = len(source[: source.index(original)].encode())
    end = start + len(original.encode())
    return make_mutant(path, "named", source.encode(), start, end, replacement)
