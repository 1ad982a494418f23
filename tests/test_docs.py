"""What README, docs and examples show is run, so that it stays true.

The fences of a page are run in order, in one temporary folder and one Python namespace:
`python` fences as they are, the `oocdm` lines of `bash` and `console` fences as commands.
To leave one out, write `<!-- not run: reason -->` above it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oocdm.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTES = [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))

SHOWN_ONLY = {"text", "json", "toml", "mermaid"}
NOT_OURS = {"make", "pip", "git", "cd"}  # set-up lines around our own commands
SHELL_SYNTAX = {"|", ">", ">>", "<", "&&", "||", ";", "&"}
SECONDS = 300

FENCE = re.compile(
    r"^(?P<indent>[ ]*)```(?P<tag>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.M | re.S
)
LINK = re.compile(r"(?:\]\(|src=\")(?!https?:)([^)\"\s]+)")
FILE = re.compile(r"`([\w/]+\.py)`")  # named on a page: from the top folder or from the package
NOT_RUN = re.compile(r"<!-- not run: \S[^\n]*-->\s*$")


@dataclass(frozen=True)
class Block:
    """One fence of a page; `line` is where its code starts."""

    page: Path
    line: int
    tag: str
    code: str


def blocks(page: Path) -> Iterator[Block]:
    """The fences of a page that are to be run, in order."""
    text = page.read_text()
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("code")) + 1
        tag = fence["tag"]
        if tag in SHOWN_ONLY or NOT_RUN.search(text, 0, fence.start()):
            continue
        if tag not in ("python", "bash", "console"):
            raise AssertionError(
                f"{page.name}:{line - 1}: a fence tagged {tag!r}. "
                f"Expected python, bash or console, or one that is not run: {sorted(SHOWN_ONLY)}."
            )
        yield Block(page, line, tag, textwrap.dedent(fence["code"]))


def commands(block: Block) -> Iterator[list[str]]:
    """The arguments of each `oocdm` command of a fence."""
    lines = block.code.replace("\\\n", " ").splitlines()
    if block.tag == "console":  # the other lines are output
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        words = shlex.split(line, comments=True)
        if not words or words[0] in NOT_OURS:
            continue
        if words[0] != "oocdm" or not SHELL_SYNTAX.isdisjoint(words):
            raise AssertionError(
                f"{block.page.name}:{block.line}: cannot run `{line}`. "
                "Expected one plain `oocdm` command a line, or `<!-- not run: reason -->` above."
            )
        yield words[1:]


def check_python(words: list[str], folder: Path, where: str) -> None:
    """Run Python with some arguments in a folder; a failure shows what it wrote."""
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode != 0:
        raise AssertionError(
            f"{where}: `{shlex.join(words)}` ended with exit code {done.returncode}.\n"
            f"{done.stdout}{done.stderr}"
        )


def check_command(words: list[str], where: str) -> None:
    """Run an `oocdm` command here: a process of its own would load torch once more."""
    done = CliRunner().invoke(app, words)
    if done.exit_code != 0:
        raise AssertionError(
            f"{where}: `oocdm {shlex.join(words)}` ended with exit code {done.exit_code}.\n"
            f"{done.output}"
        ) from done.exception


def check_page(page: Path) -> int:
    """Run all fences of a page in the current folder; the number of things run."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks(page):
        if block.tag == "python":
            # Empty lines in front give tracebacks the page's own line numbers.
            source = "\n" * (block.line - 1) + block.code
            exec(compile(source, str(page), "exec"), namespace)
            count += 1
        else:
            for words in commands(block):
                check_command(words, f"{page.name}:{block.line}")
                count += 1
    return count


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_shows_what_works(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_page(page)


@pytest.mark.parametrize("page", PAGES + NOTES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_names_files_that_exist(page: Path) -> None:
    named = FILE.findall(page.read_text())
    assert [
        n for n in named if not any((top / n).is_file() for top in (ROOT, ROOT / "oocdm"))
    ] == []


@pytest.mark.parametrize("page", PAGES + NOTES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_links_to_what_exists(page: Path) -> None:
    assert [
        link for link in LINK.findall(page.read_text()) if not leads_somewhere(page, link)
    ] == []


def leads_somewhere(page: Path, link: str) -> bool:
    """Whether a link within the repository leads to a file, and to a heading if it names one."""
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    if not heading or not target.is_file():
        return target.exists()
    headings = re.findall(r"^#+ (.*)$", target.read_text(), re.M)
    return heading in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    check_python([str(example)], tmp_path, example.name)


# The checks above can fail.


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "page.md"


def test_blocks_of_a_page_share_names_and_folder(page: Path) -> None:
    page.write_text(
        "```python\nx = 1\nopen('x.txt', 'w').close()\n```\n"
        "Then, in a list:\n\n  ```python\n  import os\n  assert os.path.exists('x.txt')\n"
        "  assert x == 1\n  ```\n"
    )
    assert check_page(page) == 2


def test_failing_block_fails_with_the_line_of_the_page(page: Path) -> None:
    page.write_text("# Page\n\n```python\nx = 1\nx.nothing\n```\n")
    with pytest.raises(AttributeError, match="nothing") as caught:
        check_page(page)
    last = caught.traceback[-1]
    assert (Path(last.path).name, last.lineno + 1) == ("page.md", 5)


@pytest.mark.parametrize("fence", ["```bash\noocdm", "```console\n$ oocdm"])
def test_failing_command_fails(fence: str, page: Path) -> None:
    page.write_text(f"{fence} no-such-verb \\\n  --seed 0  # a comment\n```\n")
    with pytest.raises(AssertionError, match="`oocdm no-such-verb --seed 0` ended with exit"):
        check_page(page)


@pytest.mark.parametrize("line", ["rm -r runs", "oocdm envs | head", "oocdm envs > envs.txt"])
def test_command_that_cannot_be_run_fails(line: str, page: Path) -> None:
    page.write_text(f"```bash\n{line}\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2: cannot run"):
        check_page(page)


def test_unknown_fence_fails(page: Path) -> None:
    page.write_text("Text\n```py\n1 / 0\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2: a fence tagged 'py'"):
        check_page(page)


def test_only_what_says_so_is_left_out(page: Path) -> None:
    page.write_text(
        "<!-- not run: takes minutes -->\n```python\n1 / 0\n```\n\n"
        "```text\noocdm no-such-verb\n```\n"
        "```bash\nmake demo\npip install .\n```\n"
        "```console\n$ make test\noocdm no-such-verb\n```\n"
    )
    assert check_page(page) == 0
    page.write_text("<!-- not run: -->\n```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        check_page(page)


def test_failing_example_fails(tmp_path: Path) -> None:
    example = tmp_path / "01_broken.py"
    example.write_text("raise SystemExit('out of cheese')")
    with pytest.raises(AssertionError, match="out of cheese"):
        check_python([str(example)], tmp_path, example.name)
