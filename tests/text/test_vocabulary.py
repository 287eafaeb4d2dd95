"""What goes into a vocabulary comes out again, and what cannot be had is said."""

import io
import pickle
import random
import re

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.tasks.batch import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

NOUNS = "Hund Katze Vogel Straße Brücke Fluss Mädchen Junge Stadt Garten".split()
VERBS = "rennt schläft springt wartet spielt singt lacht steht".split()
LINES = [
    f"Der {noun} {verb} neben {other}, {number}."
    for number, noun in enumerate(NOUNS)
    for verb in VERBS
    for other in NOUNS
]
TYPES = ("unigram", "bpe", "word", "char")


def train(texts=LINES, *, type="unigram", size=310, seed=1, **settings):
    return Vocabulary.train(
        texts, VocabularyConfig(type=type, size=size, **settings), language="de", seed=seed
    )


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def spelling(request):
    """A vocabulary that can write everything."""
    return train(type=request.param)


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(spelling, text):
    expected = " ".join(text.replace("▁", " ").split(" ")).strip(" ")
    assert spelling.decode(spelling.encode([text])) == [re.sub(" +", " ", expected)]


def test_text_that_looks_like_pieces_is_only_text(spelling):
    texts = ["<s> </s> <pad> <unk>", "<0xE4>", "\x00", "a\tb", "👩‍👩‍👧 日本語"]
    assert spelling.decode(spelling.encode(texts)) == texts
    assert not any(
        piece in (PAD, BOS, EOS, UNK) for sentence in spelling.encode(texts) for piece in sentence
    )


@pytest.mark.parametrize("type", TYPES)
def test_every_type_keeps_the_contract(type, tmp_path):
    vocabulary = train(type=type)
    assert tuple(vocabulary.pieces([PAD, BOS, EOS, UNK])) == SPECIAL_TOKENS
    assert vocabulary.decode(vocabulary.encode(LINES[:20])) == LINES[:20]
    assert (
        vocabulary.encode([""]) == [[]]
        and vocabulary.encode([]) == []
        and vocabulary.decode([[]]) == [""]
    )
    assert all(
        UNK < piece < len(vocabulary) for sentence in vocabulary.encode(LINES) for piece in sentence
    )
    inner = vocabulary.encode(LINES[:1])[0]
    assert vocabulary.decode([[BOS, *inner, EOS, PAD, PAD]]) == LINES[:1]
    vocabulary.save(tmp_path / "de.model")
    for same in (
        Vocabulary.load(tmp_path / "de.model"),
        pickle.loads(pickle.dumps(vocabulary)),
        train(type=type),
    ):
        assert same.sha256 == vocabulary.sha256 and same.encode(LINES) == vocabulary.encode(LINES)
    assert [file.name for file in tmp_path.iterdir()] == ["de.model"]


def test_words_and_letters_without_a_piece_are_shown_as_unknown():
    word, char = train(type="word"), train(type="char")
    assert word.decode(word.encode(["Elefanten neben Elefanten"])) == ["<unk> neben <unk>"]
    assert char.decode(char.encode(["Der Y"])) == ["Der <unk>"]


def test_byte_fallback_can_be_left_out():
    without = train(byte_fallback=False, size=60)
    assert UNK in without.encode(["Ω"])[0]
    assert not any(piece.startswith("<0x") for piece in without.pieces(range(len(without))))


@pytest.mark.parametrize("type", ["unigram", "bpe"])
def test_too_large_a_size_names_the_largest_that_works(type):
    with pytest.raises(
        ConfigError,
        match=r"^vocabulary.size: 80000 pieces for de are too many for this text; at most \d+, "
        r"or vocabulary.limit: soft$",
    ) as error:
        train(type=type, size=80000)
    most = int(re.search(r"at most (\d+)", str(error.value))[1])
    assert len(train(type=type, size=most)) == most


@pytest.mark.parametrize("type", ["unigram", "bpe"])
def test_too_small_a_size_names_the_smallest_that_works(type):
    with pytest.raises(
        ConfigError,
        match=(
            r"^vocabulary.size: 50 pieces for de are too few for the characters of this text; "
            r"at least \d+"
        ),
    ) as error:
        train(type=type, size=50)
    least = int(re.search(r"at least (\d+)", str(error.value))[1])
    assert len(train(type=type, size=least)) == least


@pytest.mark.parametrize("type", ["word", "char"])
def test_words_and_letters_are_as_many_as_there_are(type):
    units = {
        unit
        for line in LINES
        for unit in (line.split() if type == "word" else line.replace(" ", "▁"))
    }
    assert len(train(type=type, size=8000)) == len(SPECIAL_TOKENS) + len(units)
    assert len(train(type=type, size=20)) == 20


@pytest.mark.parametrize("texts", [[], ["", " "]])
def test_no_text_is_said(texts):
    with pytest.raises(DataError, match="^no text to train the vocabulary of de on$"):
        train(texts)


def test_a_sample_depends_on_the_seed_alone():
    lines = random.Random(0).sample(LINES, len(LINES))
    first, again, other = (
        train(iter(lines), sentences=100, type="bpe", seed=seed) for seed in (1, 1, 2)
    )
    assert first.sha256 == again.sha256 != other.sha256


def test_load_refuses_what_is_no_vocabulary_of_ours(tmp_path):
    with pytest.raises(
        CheckpointError, match=r"gone.model: the vocabulary cannot be read: No such file"
    ):
        Vocabulary.load(tmp_path / "gone.model")
    for number, content in enumerate([b"", b"hello", train().__reduce__()[1][0][:2000]]):
        (tmp_path / f"{number}.model").write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{number}.model: not a SentencePiece model"):
            Vocabulary.load(tmp_path / f"{number}.model")
    foreign = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=foreign, vocab_size=60, minloglevel=2
    )
    (tmp_path / "foreign.model").write_bytes(foreign.getvalue())
    with pytest.raises(
        CheckpointError,
        match=(
            "foreign.model: the first pieces are <unk> <s> </s> .*; "
            "they must be <pad> <s> </s> <unk>"
        ),
    ):
        Vocabulary.load(tmp_path / "foreign.model")


def test_save_says_what_is_in_the_way(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="de.model: cannot be written: Not a directory"):
        train().save(tmp_path / "file" / "de.model")
