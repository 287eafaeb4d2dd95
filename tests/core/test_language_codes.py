"""Language codes: every usual spelling has the same meaning."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.core.errors import ConfigError
from polyglot.core.language_codes import (
    describe_unknown,
    find_code,
    find_language,
    has_spaces,
    is_same_language,
    normal_form,
    parse_language,
    repeated_languages,
    resolve_language,
)

SPELLINGS = {
    "en": "en EN eng ENG eng_Latn en_Latn en_XX en_US en-US en_latin",
    "de": "de deu ger deu_Latn de_DE DE_de",
    "zh": "zh zho chi cmn zh_Hans zh_CN zho_Hans cmn_Hans zh_hans zh_simplified",
    "zh-Hant": "zh_Hant zh_TW zho_Hant zh_traditional ZH_HANT",
    "yue": "yue yue_Hant zh_yue YUE",
    "lzh": "lzh lzh_Hans",
    "ko": "ko kor kor_Hang ko_KR",
    "ja": "ja jpn jpn_Jpan ja_XX",
    "lv": "lv lav lvs lvs_Latn lav_Latn",
    "et": "et est ekk est_Latn",
    "ar": "ar ara arb arb_Arab",
    "fa": "fa fas per pes pes_Arab",
    "ms": "ms msa zsm zsm_Latn",
    "no": "no nor nob nb nob_Latn",
    "nn": "nn nno nno_Latn",
    "sr": "sr srp srp_Cyrl sr_cyrillic",
    "sr-Latn": "sr_Latn srp_Latn hbs sh",
    "he": "he heb iw heb_Hebr",
    "fil": "fil tgl tl tgl_Latn",
    "sq": "sq sqi alb als als_Latn",
    "pt-PT": "pt_PT por_PT",
    "acm": "acm acm_Arab",
    "l1": "l1 L1",
}

FLORES_200 = """
ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab
arb_Latn ars_Arab ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl
bam_Latn ban_Latn bel_Cyrl bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn
bul_Cyrl cat_Latn ceb_Latn ces_Latn cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn
dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn fao_Latn fij_Latn fin_Latn
fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn
heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn
jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn
kaz_Cyrl kbp_Latn kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kmr_Latn kon_Latn kor_Hang
lao_Laoo lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn lua_Latn lug_Latn luo_Latn
lus_Latn lvs_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Arab min_Latn mkd_Cyrl plt_Latn mlt_Latn
mni_Beng khk_Cyrl mos_Latn mri_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn
nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pes_Arab pol_Latn por_Latn prs_Arab
pbt_Arab quy_Latn ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Olck scn_Latn shn_Mymr sin_Sinh
slk_Latn slv_Latn smo_Latn sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl
ssw_Latn sun_Latn swe_Latn swh_Latn szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai
tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng
uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr
yor_Latn yue_Hant zho_Hans zho_Hant zsm_Latn zul_Latn
""".split()
"""All codes of FLORES-200 (NLLB Team 2022)."""

TWO_LETTERS = frozenset("ar cs de en et fa fr he ja ko lv no nn or ps ru sr zh".split())


@pytest.mark.parametrize("form", SPELLINGS)
def test_all_spellings_have_one_normal_form(form):
    names = SPELLINGS[form].split()
    assert {normal_form(name) for name in names} == {form}


def test_different_languages_have_different_normal_forms():
    assert len({normal_form(form) for form in SPELLINGS}) == len(SPELLINGS)
    assert not list(repeated_languages(FLORES_200))


@pytest.mark.parametrize("name", FLORES_200)
def test_flores_codes_are_known(name):
    code = parse_language(name)
    script = name[-4:]
    assert code.is_known
    assert not code.unknown_part
    assert code.script == {"Hang": "Kore"}.get(script, script)


def test_codes_of_udhr_are_different_languages(shared_data):
    languages = shared_data / "udhr" / "languages.tsv.gz"
    if not languages.exists():
        pytest.skip(f"{languages} is absent")
    with gzip.open(languages, "rt", encoding="utf-8") as rows:
        names = [row.split("\t")[0] for row in rows][1:]
    assert len(names) == 363
    assert not list(repeated_languages(names))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("eng_Latn", "en"),
        ("EN_GB", "en"),
        ("lvs_Latn", "lv"),
        ("nob_Latn", "no"),
        ("nno", "nn"),
        ("acm_Arab", "ar"),
        ("pes_Arab", "fa"),
        ("prs", "fa"),
        ("pbt_Arab", "ps"),
        ("ory_Orya", "or"),
        ("lzh_Hant", "zh"),
        ("yue", "zh"),
        ("cjy", "zh"),
        ("iw", "he"),
        ("azb_Arab", None),
        ("l1", None),
        ("x_foo", None),
    ],
)
def test_code_of_a_library_is_found(name, code):
    assert find_code(name, TWO_LETTERS) == code


def test_exact_code_of_a_library_comes_first():
    assert find_code("yue", TWO_LETTERS | {"yue"}) == "yue"
    assert find_code("arz_Arab", TWO_LETTERS | {"arz"}) == "arz"
    assert find_code("gn", frozenset({"gug"})) == "gug"
    assert find_code("fil", frozenset({"tl"})) == "tl"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("zh_Hant", False), ("lzh", False), ("nan", False), ("nan_Latn", True), ("ja_Latn", True)]
    + [("jv", True), ("jv_Java", False), ("dzo", False), ("shn", False), ("ko", True)]
    + [("vi", True), ("l1", True), ("acu", True)],
)
def test_spaces_follow_the_script(name, expected):
    assert has_spaces(name) == expected


def test_repeated_languages_are_pairs_of_spellings():
    names = ["de", "zh_Hans", "deu_Latn", "cmn", "zh_Hant", "taq_Latn", "taq_Tfng"]
    assert list(repeated_languages(names)) == [("de", "deu_Latn"), ("zh_Hans", "cmn")]


def test_script_does_not_matter_where_none_is_usual():
    assert parse_language("kjh").script is None
    assert is_same_language("kjh", "kjh_Cyrl")
    assert not is_same_language("kjh_Latn", "kjh_Cyrl")


def test_language_of_a_run_is_found():
    assert find_language("en", ["de", "en"]) == "en"
    assert find_language("en", ["deu_Latn", "eng_Latn"]) == "eng_Latn"
    assert find_language("en", ["de", "en_GB"]) == "en_GB"
    assert find_language("en", ["en_GB", "en_AU"]) is None
    assert find_language("en_GB", ["en_AU"]) is None
    assert find_language("fr", ["de", "en"]) is None


def test_one_line_describes_everything_that_is_not_known():
    line = describe_unknown(["de", "l1", "de_noisy", "acu"])
    assert line == (
        "language codes: in no registry: l1 (common rules for text and scores); "
        "in no registry: noisy in de_noisy (treated as de); "
        "script not known: acu (words are expected between spaces)"
    )
    assert describe_unknown(["de", "zh_Hant", "yue"]) == ""


@given(name=st.from_regex(r"[A-Za-z][A-Za-z0-9_]*", fullmatch=True))
def test_every_name_can_be_interpreted(name):
    code = parse_language(name)
    assert code.name == name
    assert is_same_language(name, name)
    assert is_same_language(name, name.upper())
    assert parse_language(code.normal_form).normal_form == code.normal_form
    find_code(name, TWO_LETTERS)
    describe_unknown([name])


@pytest.mark.parametrize(
    ("name", "languages", "expected"),
    [
        ("en", ["eng_Latn", "zh_Hant"], "eng_Latn"),
        ("ENG", ["en", "de"], "en"),
        ("sr", ["sr_Latn", "srp_Cyrl"], "srp_Cyrl"),
        ("en", ["en_GB", "de"], "en_GB"),
        ("fr", ["eng_Latn", "zh_Hant"], "fr"),
        ("l1", ["l1", "L1"], "l1"),
    ],
)
def test_a_spelling_is_resolved_to_the_name_of_the_run(name, languages, expected):
    assert resolve_language(name, languages) == expected
    assert resolve_language(name, dict.fromkeys(languages)) == expected


@pytest.mark.parametrize(
    ("name", "languages"),
    [("en", ["en_GB", "en_AU"]), ("kjh", ["kjh_Latn", "kjh_Cyrl"])],
)
def test_an_ambiguous_spelling_is_refused_with_all_names(name, languages):
    with pytest.raises(ConfigError) as error:
        resolve_language(name, languages)
    first, second = languages
    assert str(error.value) == (
        f"language {name!r}: may mean {first!r} or {second!r}; name one of them"
    )
