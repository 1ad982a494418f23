from oocdm.bench.machine import describe_machine


def test_the_machine_says_what_a_figure_was_measured_on():
    machine = describe_machine()
    assert machine["cores"] >= 1 and machine["threads"] >= 1
    assert machine["processor"] and machine["torch"]
