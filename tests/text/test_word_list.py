"""A list of words behaves as a vocabulary does."""

from __future__ import annotations

import pickle

import pytest

from polyglot.core.errors import CheckpointError
from polyglot.tasks.batch import BOS, EOS, PAD, UNK
from polyglot.text.word_list import WordList, load_vocabulary

WORDS = ["▁ein", "▁ein▁", "ä", "\u2028", "<x>"]


def test_there_and_back_also_through_a_file(tmp_path):
    words = WordList(WORDS)
    words.save(tmp_path / "de.model")
    for one in (words, load_vocabulary(tmp_path / "de.model"), pickle.loads(pickle.dumps(words))):
        assert one.encode(["ä  ▁ein nie", "", "\u2028 ▁ein▁"]) == [[6, 4, UNK], [], [7, 5]]
        assert one.decode([[BOS, 6, 4, UNK, EOS, PAD], []]) == ["ä ▁ein <unk>", ""]
        assert (
            one.pieces([EOS, 8]) == ["</s>", "<x>"] and len(one) == 9 and one.sha256 == words.sha256
        )
    assert WordList(WORDS[:-1]).sha256 != words.sha256


def test_what_is_neither_kind_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"something")
    (tmp_path / "b").write_bytes(b"polyglot word list\n\xff")
    for name, sentence in (
        ("a", "not a SentencePiece model"),
        ("b", "the word list is damaged: it is not UTF-8"),
        ("c", "cannot be read: No such file"),
    ):
        with pytest.raises(CheckpointError, match=sentence):
            load_vocabulary(tmp_path / name)
