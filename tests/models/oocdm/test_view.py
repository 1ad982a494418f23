"""A state as single targets see it."""

from __future__ import annotations

import torch

from oocdm.models.oocdm.view import View, all_values, combine, num_all_codes
from oocdm.schema import Boolean, Categorical, Integer, Real
from tests.models.oocdm.worlds import SCHEMA, ants, model_of, view_of
from tests.models.strategies import FIELDS, Case

MODEL = model_of()


def random_view(counts: dict[str, int]) -> View:
    return view_of(MODEL, Case.of(SCHEMA, counts, seed=0).known)


def test_what_was_made_is_made_once() -> None:
    view, calls = random_view({"Ant": 2, "Hill": 1}), []
    for _ in range(2):
        assert view.once(("key",), lambda: calls.append(1) or 7) == 7
    assert calls == [1]
    assert view.encoded("Ant", "x") is view.encoded("Ant", "x")
    assert view.code("Ant", "cell") is view.code("Ant", "cell")


@torch.no_grad()
def test_encodings_are_those_of_all_fields_together() -> None:
    view = random_view({"Ant": 3, "Hill": 2})
    inputs = MODEL.inputs(view.now)
    assert view.dtype == torch.float64
    for c in SCHEMA.classes:
        encoder = MODEL.encoders[c]
        for i, f in enumerate(encoder.fields):
            found, expected = view.encoded(c, f), encoder.literal(i, inputs.features[c])
            torch.testing.assert_close(found, expected.flatten(0, 1)[:, : found.shape[1]])
        for i, v in enumerate(SCHEMA.targets(c)):
            numbers = view.numbers(c, v)
            values = inputs.values[c][:, :, i].flatten(0, 1)
            assert torch.equal(numbers, values[:, : numbers.shape[1]])


def test_equal_values_are_found_by_their_codes_or_themselves() -> None:
    view = random_view({"Ant": 4, "Hill": 3})
    for f in ("cell", "awake", "colour", "x"):
        values = view.now["Ant", f]
        same = values[:, :, None] == values[:, None]
        expected = same.all(-1) if same.ndim > 3 else same
        assert torch.equal(view.equal("Ant", "Ant", f), expected.double())
    # The other way round it is the same, turned.
    ours = view.equal("Hill", "Ant", "x")
    assert torch.equal(view.equal("Ant", "Hill", "x"), ours.transpose(1, 2))


def test_absent_rows_are_told() -> None:
    view = view_of(MODEL, ants())
    assert view.absent("Hill") is None
    absent = view.absent("Ant")
    assert absent is not None and absent.tolist() == [[False, False, True]]


def test_codes_count_all_values_in_order() -> None:
    for make in FIELDS:
        field = make()
        number = num_all_codes(field)
        if number is None:
            continue
        values = all_values(field)
        assert values.shape == (number, *field.shape)
        assert len({tuple(row.flatten().tolist()) for row in values}) == number
        codes = field.to_codes(values).reshape(number, -1)
        together = combine((column, field.num_codes) for column in codes.unbind(1))
        assert together.tolist() == list(range(number))


def test_only_few_values_have_codes() -> None:
    assert num_all_codes(Boolean()) == 2 and num_all_codes(Categorical(3)) == 3
    assert num_all_codes(Integer(0, 15, shape=(3,))) == 4096
    for field in (Real(), Integer(), Integer(0, 16, shape=(3,))):
        assert num_all_codes(field) is None
