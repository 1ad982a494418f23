"""Options of a network."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from oocdm.errors import ModelError
from oocdm.models.oocdm.options import ModelOptions
from tests.models.strategies import options


@given(options())
def test_options_survive_json(chosen: ModelOptions) -> None:
    assert ModelOptions.from_json(json.loads(json.dumps(chosen.to_json()))) == chosen


def test_the_papers_network_has_no_improvement() -> None:
    paper = ModelOptions.preset("paper")
    assert paper.aggregators == ("attention",)
    assert (paper.encoding_dim, paper.local_dim, paper.heads, paper.decoder_dim) == (16, 32, 2, 32)
    assert paper.sigma_floor == 1e-5
    switches = ("enrich", "predict_change", "linear_path", "structure_aware", "normalise")
    assert not any(getattr(paper, name) for name in (*switches, "clamp_means", "skip_unrelated"))


def test_the_default_preset_is_the_default() -> None:
    assert ModelOptions.preset("default") == ModelOptions()


def test_an_unknown_preset_gets_a_suggestion() -> None:
    expected = r"^Unknown preset `papr`\. Did you mean `paper`\? Known: default, paper\.$"
    with pytest.raises(ModelError, match=expected):
        ModelOptions.preset("papr")


def test_an_unknown_option_gets_a_suggestion() -> None:
    with pytest.raises(ModelError, match=r"there is no `head`\. Did you mean `heads`\?"):
        ModelOptions.from_json({**ModelOptions().to_json(), "head": 2})


def test_an_unknown_aggregator_gets_a_suggestion() -> None:
    expected = (
        r"^model: `aggregators\[0\]`: unknown value 'atention'\. Did you mean `attention`\? "
        r"Known: attention, sum\.$"
    )
    with pytest.raises(ModelError, match=expected):
        ModelOptions(aggregators=("atention",))


def test_aggregators_cannot_be_empty() -> None:
    expected = r"^aggregators: expected attention, sum or both, got none\.$"
    with pytest.raises(ModelError, match=expected):
        ModelOptions(aggregators=())


def test_encodings_of_objects_go_both_ways() -> None:
    expected = r"^identity_dim must be even, half of it for each way, got 7\.$"
    with pytest.raises(ModelError, match=expected):
        ModelOptions(identity_dim=7)


def test_heads_divide_the_local_encoding() -> None:
    expected = r"^local_dim must be a multiple of heads, got 32 and 3\.$"
    with pytest.raises(ModelError, match=expected):
        ModelOptions(heads=3)
