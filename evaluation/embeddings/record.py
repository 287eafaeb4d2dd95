"""Measure the embeddings of a run and put the tables into evaluation/results/embeddings.md.

    python evaluation/embeddings/record.py multi30k runs/multi30k-small --data DATA
    python evaluation/embeddings/record.py tatoeba runs/multi30k-small --data DATA
    python evaluation/embeddings/record.py phrasebook runs/phrasebook
    python evaluation/embeddings/record.py phrasebook runs/phrasebook-without-copies --title "Phrasebook, without copies"

The first argument names a file of evaluation/embeddings/. A part of the same title is replaced, all else in the page stays;
numbers and pictures go to WORK (by default build/embeddings).
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from polyglot.analysis.embeddings.analysis import analyse
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.analysis.embeddings.page import markdown, save
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run

HERE = Path(__file__).parent
PAGE = HERE.parent / "results" / "embeddings.md"
MARK = "## Record: "


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", choices=sorted(path.stem for path in HERE.glob("*.yaml")))
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", type=Path, help="where the paths of the settings start")
    parser.add_argument(
        "--title", help="of the part of the page; by default the name of the settings"
    )
    parser.add_argument("--checkpoint", default="best")
    parser.add_argument("--work", type=Path, default=Path("build/embeddings"))
    options = parser.parse_args()
    title = options.title or options.settings.capitalize()
    run = Run.open(options.run)
    found = analyse(
        run,
        Translator.load(run, checkpoint=options.checkpoint),
        AnalysisSettings.load(HERE / f"{options.settings}.yaml"),
        folder=options.data,
        progress=lambda name, done, of: print(
            f"{title}: {name}, {done + 1} of {of}", file=sys.stderr, flush=True
        ),
    )
    save(found, options.work / re.sub(r"\W+", "-", title.lower()))
    given = [
        options.settings,
        options.run.name,
        *(["--title", options.title] if options.title else []),
    ]
    tables = (
        re.sub(r"^#", "###", markdown(found).partition("\n")[2], flags=re.MULTILINE)
        .strip()
        .replace("####", "###")
    )
    part = "\n\n".join([
        f"{MARK}{title}",
        f"`python evaluation/embeddings/record.py {shlex.join(map(str, given))}`; the run's seed is {run.config.seed}, "
        f"{len(run.config.tasks)} tasks, "
        f"bridge {run.config.model.bridge.model_dump()}.",
        tables,
    ])  # fmt: skip
    head, *parts = re.split(
        rf"(?=^{MARK})",
        PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "",
        flags=re.MULTILINE,
    )
    kept = {one.partition("\n")[0].removeprefix(MARK): one.strip() for one in parts} | {title: part}
    PAGE.write_text("\n\n".join([head.strip(), *kept.values()]).strip() + "\n", encoding="utf-8")
    print(f"{PAGE}: {title}")


if __name__ == "__main__":
    main()
