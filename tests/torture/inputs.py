"""Strategies of Hypothesis for everything that a user can give: files, runs, command lines."""

from __future__ import annotations

import bz2
import gzip
import lzma

from hypothesis import strategies as st

from tests.builders.command_line import CONFIG, TEXT
from tests.torture.odd_values import ODD_TEXTS, Case, damaged

LANGUAGES = ["en", "de", "fr"]

# Text


JSON_LINES = [
    b'{"en": "a dog", "de": "ein Hund"}',
    b'{"en": ' + b"9" * 5000 + b"}",
    b"[" * 20000,
    b'{"a": ' * 5000,
    b'{"en": "\\ud800", "de": ""}',
    b'{"en": NaN}',
    b'{"en": 1e999999}',
    b'{"en": "a", "en": "b", "de": null}',
    b"null",
    b'"',
]
PLAIN = "".join(f"{line}\n" for line in TEXT["de"]).encode()
TEXT_FRAGMENTS = [
    b"\0",
    b"\r",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"\xe2\x96\x81",
    b"<unk> <s> </s>",
    b"x" * 100_000,
    b"x " * 20_000,
    b"\n" * 3000,
    b"\t",
    b"BZh91AY&SY",
    b"PK\x03\x04",
    b"PAR1\x15",
]


def compressed(content: bytes) -> list[bytes]:
    return [content, gzip.compress(content), bz2.compress(content), lzma.compress(content)]


texts = st.one_of(
    damaged(PLAIN, TEXT_FRAGMENTS),
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda text: text.encode(errors="surrogatepass")),
    st.sampled_from(compressed(PLAIN)).flatmap(damaged),
)
tables = st.one_of(
    st.lists(st.sampled_from(JSON_LINES), max_size=6).map(b"\n".join),
    damaged(b'{"en": "a dog", "de": "ein Hund"}\n' * 5, JSON_LINES),
    damaged(b"a dog\tein Hund\tun chien\n" * 5, TEXT_FRAGMENTS),
    texts,
)


# Command lines

FILES = {
    "text.de": PLAIN,
    "text.gz": gzip.compress(PLAIN),
    "rows.tsv": b"a dog\tein Hund\n" * 3,
    "rows.jsonl": b'{"en": "a dog", "de": "ein Hund"}\n' * 3,
    "tiny.yaml": CONFIG.encode(),
    "bytes": bytes(range(256)),
    "empty": b"",
}
"""Files that every case finds in its folder, besides the run `runs/mine`."""

COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "train": (["tiny.yaml", "--dry-run"], ["--resume", "--accept-changes", "--processes"]),
    "translate": (
        ["runs/mine", "text.de", "--from", "de", "--to", "fr"],
        ["--beam", "--length-penalty", "--n-best", "--select", "--select-by", "--select-for",
         "--checkpoint", "--average", "--device", "--from", "--accept-changes"],
    ),
    "shortlist": (["runs/mine", "de-fr"], ["--sentences", "--best"]),
    "evaluate": (
        ["runs/mine"],
        ["--protocol", "--checkpoint", "--pivot", "--ensemble", "--select", "--device"],
    ),
    "compare": (["runs/mine", "runs/mine"], ["--protocol", "--measure", "--test"]),
    "experiment": (["tiny.yaml", "--dry-run"], ["--size", "--folder", "--parallel"]),
    "embed": (
        ["runs/mine", "text.de", "--output", "vectors.npy", "--language", "de"],
        ["--language-column", "--text-column", "--pooling", "--layer", "--precision",
         "--normalize", "--batch-size", "--checkpoint", "--device", "--output"],
    ),
    "similar": (
        ["runs/mine", "text.de", "text.de", "--from", "de", "--to", "en"],
        ["--mine", "--threshold", "--margin", "--neighbours", "--top", "--search", "--pooling",
         "--layer", "--checkpoint", "--device"],
    ),
    "add-language": (
        ["runs/mine", "fi", "--dry-run"],
        ["--with", "--free", "--checkpoint"],
    ),
    "average": (["runs/mine", "--to", "averaged"], ["--last"]),
    "export": (["runs/mine", "--component", "encoder.de", "--to", "copy"], ["--checkpoint"]),
    "match": (["tiny.yaml", "--parameters-of", "5000"], ["--parameters-of"]),
    "convert": (["bytes", "converted", "--from", "en", "--to", "de"], []),
    "symbolize": (
        ["text.de", "--from", "de", "--to", "en", "--output", "symbols"],
        ["--dictionary", "--name-words", "--most"],
    ),
    "clean": (
        ["text.de", "--output", "cleaned", "--max-other-language", "1"],
        ["--languages", "--columns", "--min-length", "--max-length", "--max-ratio", "--unit",
         "--min-letters", "--near-duplicates", "--test", "--run", "--margin", "--undo", "--rule",
         "--gzip", "--force"],
    ),
    "split": (
        ["text.de", "--output", "parts", "--validation", "1", "--test", "1"],
        ["--seed", "--languages", "--columns", "--header", "--documents", "--ignore-shorter",
         "--gzip", "--force"],
    ),
    "desymbolize": (["text.de", "--language", "de", "--rules", "rows.jsonl"], []),
    "show": (["runs/mine"], []),
}  # fmt: skip
"""Arguments of a call that works, and further options, by command."""

WORDS = [
    *FILES,
    *ODD_TEXTS,
    "runs/mine",
    "runs",
    ".",
    "runs/mine/checkpoints",
    "runs/mine/config.yaml",
    "de",
    "fr",
    "en",
    "last",
    "best",
    "average:2",
    "average:99999999999999999999",
    "cpu",
    "cuda:99",
    "meta",
    "4",
    "1",
    "0",
    "-1",
    "1e3",
    "nan",
    "inf",
    str(2**63),
    str(10**30),
    "--help",
    "--",
    "-q",
    "heads",
    "roles",
    "phrasebook",
    "bleu",
    "comet",
    "default",
]
"""Arguments that are put in any place. None names a place outside the folder of a case."""


@st.composite
def command_lines(draw: st.DrawFn) -> Case:
    """A command that works, with a few arguments added, replaced, repeated or left out."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    arguments, options = COMMANDS[command]
    arguments = list(arguments)
    words = st.one_of(st.sampled_from(WORDS), st.text(max_size=10))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(arguments)))
        kind = draw(st.sampled_from(["option", "replace", "remove", "word"]))
        if kind == "option" and options:
            added = [draw(st.sampled_from(options))]
            if draw(st.booleans()):
                added.append(draw(words))
            arguments += added
        elif kind == "replace" and place < len(arguments):
            arguments[place] = draw(words)
        elif kind == "remove":
            del arguments[place : place + 1]
        else:
            arguments.insert(place, draw(words))
    if command in ("train", "add-language", "experiment") and "--dry-run" not in arguments:
        arguments.append("--dry-run")
    return Case([command, *arguments], stdin=draw(st.sampled_from([b"", PLAIN, b"\xff\n"])))


# Cases of every kind


def text_cases() -> st.SearchStrategy[Case]:
    """Text and tables as input of the commands, and as corpora."""
    text_commands = st.sampled_from(
        [
            ["translate", "runs/mine", "case", "--from", "de", "--to", "fr", "--beam", "1"],
            ["embed", "runs/mine", "case", "--output", "vectors.npy", "--language", "de"],
            ["similar", "runs/mine", "case", "text.de", "--from", "de", "--to", "en"],
            ["symbolize", "case", "--from", "de", "--to", "en", "--output", "symbols"],
            ["desymbolize", "text.de", "--language", "de", "--rules", "case"],
            ["convert", "case", "converted", "--from", "en", "--to", "de"],
        ]
    )
    corpora = st.sampled_from(
        [
            "{type: text, source: text.de, target: case, pair: de-en}",
            "{type: tsv, path: case, columns: {en: 1, de: 2}}",
            "{type: jsonl, path: case, columns: {en: en, de: de}}",
            "{type: jsonl, path: case}",
            "{type: parquet, path: case}",
        ]
    )

    def corpus_case(corpus: str, content: bytes) -> Case:
        settings = [f"data.{part}=[{corpus}]" for part in ("train", "valid")]
        schedule = ["languages=[en, de]", "schedule={type: uniform, pairs: [en-de, de-en]}"]
        rest = ["validation.bleu_pairs=[]", "run=runs/new", "training.steps=1"]
        arguments = ["train", "tiny.yaml", *settings, *schedule, *rest]
        return Case(arguments, {"case": content})

    return st.one_of(
        st.builds(lambda command, text: Case(command, {"case": text}), text_commands, texts),
        st.builds(corpus_case, corpora, tables),
    )


RUN_FILES = [
    "config.yaml",
    "log.jsonl",
    "vocabulary/de.model",
    "checkpoints/step-00000004/manifest.json",
    "checkpoints/step-00000004/training.json",
    "checkpoints/step-00000004/bridge.safetensors",
    "checkpoints/best.json",
    "evaluation/default/matrix.json",
]


def run_cases(contents: dict[str, bytes]) -> st.SearchStrategy[Case]:
    """Commands on a run with one damaged file. contents: the files of an intact run."""
    commands = st.sampled_from(
        [
            ["translate", "runs/mine", "text.de", "--from", "de", "--to", "fr", "--beam", "1"],
            ["evaluate", "runs/mine"],
            ["report", "runs/mine"],
            ["show", "runs/mine"],
            ["train", "runs/mine", "--resume", "--dry-run"],
            ["train", "runs/mine", "--resume"],
            ["average", "runs/mine", "--to", "averaged"],
            ["export", "runs/mine", "--component", "*.de", "--to", "copy"],
            ["compare", "runs/mine", "runs/mine"],
        ]
    )
    fragments = [b"9" * 5000, b"[" * 20000, b"NaN", b"-1", b"1e400", b'"\\u001b[31m"', b"null"]

    def damaged_file(name: str) -> st.SearchStrategy[tuple[str, bytes]]:
        return st.tuples(st.just(name), damaged(contents[name], fragments))

    names = st.sampled_from(sorted(contents))
    return st.builds(
        lambda command, file: Case(command, {f"runs/mine/{file[0]}": file[1]}),
        commands,
        names.flatmap(damaged_file),
    )
