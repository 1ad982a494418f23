"""The tables of the docs are made from JSON alone."""

import json
from pathlib import Path

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


def cell(env: str, method: str, accuracy: float, **others: str) -> dict[str, object]:
    return {**CELL, "env": env, "method": method, "graph_accuracy": accuracy, **others}


def test_methods_side_by_side_in_the_order_of_the_paper() -> None:
    cells = [
        cell("mouse", "mlp", 0.1),
        cell("block10", "mlp", 0.2),
        cell("block5-noisy", "zeta", 0.3),
        cell("block5-noisy", "linear", 0.4),
        cell("block5", "gnn", 0.5),
        cell("block10", "oocdm", 0.6),
    ]
    header, _, *rows = tables.methods_table("graphs", cells).splitlines()
    assert header == "| environment | oocdm | gnn | mlp | linear | zeta |"
    assert [row.split(" | ")[0] for row in rows] == [
        *("| block5", "| block10", "| block5-noisy", "| mouse")
    ]


def test_the_paper_has_no_accuracy_where_objects_of_a_class_differ(tmp_path: Path) -> None:
    unknown = cell("walker", "oocdm", 0.0) | {"graph_accuracy": None, "seed": 1}
    del unknown["wrong_class_edges"]
    for i, each in enumerate([cell("asymblock", "oocdm", 0.5), unknown]):
        (tmp_path / f"{i}.json").write_text(json.dumps(each))
    _, _, asymblock, walker = tables.paper_table(tmp_path).splitlines()
    assert asymblock.startswith("| asymblock | released | default | 0 | 50.00 % | 1 | 20.0 (16.4)")
    assert walker.startswith("| walker | released | default | 1 |  |  | 20.0 (6.0) | 19.0 (5.9) |")


def test_other_presets_and_variants_are_not_mixed_in() -> None:
    cells = [
        cell("block5", "cdl", 0.9),
        cell("block5", "cdl", 0.1, preset="paper"),
        cell("block5", "cdl", 0.2, variant="paper"),
        cell("block2", "cdl", 0.2, variant="paper"),
    ]
    assert tables.methods_table("graphs", cells).splitlines()[2:] == ["| block5 | 90.0 (97.5) |"]


def test_all_environments_are_compared(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks.md"
    page.write_text(
        "<!-- methods graphs: begin --><!-- methods graphs: end -->\n"
        "<!-- methods time: begin --><!-- methods time: end -->\n"
    )
    folder = tmp_path / "benchmarks" / "results" / "methods"
    folder.mkdir(parents=True)
    for env in ("mouse", "block5-noisy"):
        path = folder / f"{env}-cdl-default-released-seed0.json"
        path.write_text(json.dumps(cell(env, "cdl", 0.9)))
    for env, seconds in (("block5", 1.0), ("block5-noisy", 3.0)):
        time = {"method": "cdl-a", "blocks": 5, "samples": 60, "seconds": seconds}
        (folder / f"time-{env}-cdl-a.json").write_text(json.dumps(time))
    tables.main(tmp_path)
    text = page.read_text()
    assert "| block5-noisy | 90.0 (96.8) |\n| mouse | 90.0 (90.4) |" in text
    assert "| block5 | 1.0 (8.5) |\n| block5-noisy | 3.0 |" in text


def test_growth_stands_beside_the_analysis_of_the_paper(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks.md"
    page.write_text("<!-- methods growth: begin --><!-- methods growth: end -->\n")
    folder = tmp_path / "benchmarks" / "results" / "methods"
    folder.mkdir(parents=True)
    for method, power in (("cdl-a", 2), ("oocdm", 1)):
        for blocks in (2, 5, 20):
            row = {"method": method, "blocks": blocks, "variables": 4 * blocks + 4, "samples": 2000}
            row["seconds"] = (row["variables"] / 10) ** power
            (folder / f"discovery-{blocks}blocks-{method}.json").write_text(json.dumps(row))
    tables.main(tmp_path)
    assert "| oocdm | 2,000 | 1.2 | 8.4 | 1.0 | n m N k | 2 |" in page.read_text()
    assert "| cdl-a | 2,000 | 1.4 | 70.6 | 2.0 |  |  |" in page.read_text()
    assert (tmp_path / "docs" / "discovery_growth.png").is_file()


def test_calibration_has_families_power_and_a_picture(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks.md"
    page.write_text("<!-- calibration: begin -->\nold\n<!-- calibration: end -->\n")
    results = tmp_path / "benchmarks" / "results" / "calibration"
    results.mkdir(parents=True)
    field = {"A.x": {"nats_below": 0.01, "coverage": 0.91}}
    edge = {"is_true": True, "is_found": True, "worth": 0.5}
    for family in ("weak", "forces"):
        world = {"family": family, "world_seed": 3, "edges": [edge], "settled": True}
        world |= {"fields": {"id": field, "ood": field}, "processor_seconds": 55.0}
        (results / f"{family}-00003.json").write_text(json.dumps(world))
    (results / "world000.json").write_text("{}")  # from before there were families
    tables.main(tmp_path)
    lines = page.read_text().splitlines()
    for cells in ("(0 of 1) | 100.0 % [20.7, 100.0]", "91 % | 91 % | 100 % | 55"):
        families = [line.split(" | ")[0] for line in lines if cells in line]
        assert families[:2] == ["| forces", "| weak"]
    assert "| 0.5 to 1 | 2 | 100.0 % [34.2, 100.0] |" in lines
    assert "![Errors, power and coverage](calibration_families.png)" in lines
    assert (tmp_path / "docs" / "calibration_families.png").is_file()


def test_logs_have_graphs_rollouts_and_what_is_slowed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks.md"
    page.write_text("<!-- logs: begin -->\nold\n<!-- logs: end -->\n")
    results = tmp_path / "benchmarks" / "results" / "logs"
    results.mkdir(parents=True)
    errors = {"model": 0.1, "persistence": 0.3, "velocity": 0.2}
    errors |= {"over_persistence": [-0.3, -0.1], "over_velocity": [-0.2, 0.01]}
    fits = [("highway", 0, ["a", "b"]), ("highway", 1, ["b", "c"]), ("mpe", 1, ["e"])]
    for env, seed, graph in fits:
        cell = {"env": env, "seed": seed, "graph": graph, "common": 3, "missed": ["d"]}
        cell |= {"unlisted": ["c"], "settled": None, "processor_seconds": 9.0}
        cell |= {"rollouts": {"Car.x": errors}, "slowed": {"cases": 0}}
        (results / f"{env}-seed{seed}.json").write_text(json.dumps(cell))
    tables.main(tmp_path)
    lines = page.read_text().splitlines()
    assert "| highway | 1 | 2 of 3 | d | c | 0.33 |  | 9 |" in lines
    assert "| mpe | 1 | 2 of 3 | d | c |  |  | 9 |" in lines  # compared with its own fits alone
    assert "| highway | 0 | Car.x | 0.1 | 0.3 [-0.3, -0.1] | 0.2 [-0.2, 0.01] |" in lines


def test_curves_stand_beside_those_of_the_authors_program(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks.md"
    empty = "<!-- curves: begin -->\nNot measured yet.\n<!-- curves: end -->\n"
    page.write_text(empty)
    tables.main(tmp_path)
    assert empty in page.read_text()
    results = tmp_path / "benchmarks" / "results" / "curves"
    results.mkdir(parents=True)
    row = {"steps": 1000, "phase": "learn", "wrong": 9, "wrong_trained": 54, "aill_id": 1.5}
    row |= {"aill_ood": -2.0, "processor_seconds": 70.2}
    for preset, seed in (("default", 0), ("paper", 1), ("paper", 0)):
        each = {"preset": preset, "seed": seed, "rows": [row]}
        (results / f"block5-{preset}-seed{seed}.json").write_text(json.dumps(each))
    tables.main(tmp_path)
    lines = page.read_text().splitlines()
    theirs = "35; -5.5 / -9.2 | 36; -5.1 / -6.0 | 34; 1.9 / -2.8"
    assert f"| 1,000 | {theirs} | 9 (54); 1.5 / -2.0 | 9 (54); 1.5 / -2.0 |" in lines
    assert "| default | 0 | learn | 1,000 | 9 | 54 | 1.5 | -2.0 | 70 |" in lines
    assert "![Wrong edges and AILL against steps](curves.png)" in lines
    assert (tmp_path / "docs" / "curves.png").is_file()
