"""The tables of the docs are made from JSON alone."""

import json

from oocdm.bench import tables

CELL = {
    "env": "block5",
    "method": "oocdm",
    "preset": "default",
    "variant": "released",
    "seed": 0,
    "graph_accuracy": 0.99,
    "wrong_class_edges": ["Block.s1 <- self.s2"],
    "aill_train": 20.0,
    "aill_id": 19.0,
    "aill_ood": -123456.0,
    "seconds": 90.0,
    "steps": {"learn": 4000, "polish": 3000},
    "threads": 2,
    "date": "2026-01-01",
}


def test_tables_stand_between_their_markers(tmp_path):
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks.md"
    page.write_text("before\n<!-- paper: begin -->\nold\n<!-- paper: end -->\nafter\n")
    results = tmp_path / "benchmarks" / "results" / "paper"
    results.mkdir(parents=True)
    (results / "cell.json").write_text(json.dumps(CELL))
    tables.main(tmp_path)
    text = page.read_text()
    assert text.startswith("before\n<!-- paper: begin -->\n| environment")
    assert text.endswith("<!-- paper: end -->\nafter\n")
    assert "old" not in text
    assert (
        "| block5 | released | default | 0 | 99.00 % (100.0 %) | 1 | 20.0 (19.6) | 19.0 (19.5) "
        "| -1.2e+05 (13.5) | 1.5 | 4,000 + 3,000 | 2 | 2026-01-01 |" in text
    )
