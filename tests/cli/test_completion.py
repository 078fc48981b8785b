"""What `graphfix completion` prints, sourced by the shells themselves: each completes what was begun."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.cli import running
from graphfix.results import GraphfixError
from graphfix.targets import registry
from tests.support.asking import ask

BEGUN = {
    "graphfix ver": {"verify"},
    "graphfix fix --broadc": {"--broadcasts"},
    "graphfix fix --target litert": {"litert-gpu"},
    "graphfix fix --only equal": {"equalize-ranks"},
    "graphfix check --skip equal": {"equalize-ranks"},
    "graphfix explain GF20": {"GF201", "GF202", "GF203", "GF204"},
    "graphfix explain ethos": {"ethos-u"},
    "graphfix show some": {"some_model.onnx"},
    "graphfix fix some_model.onnx -o some": {"some_model.onnx"},
    "graphfix show --color al": {"always"},
    "graphfix completion f": {"fish"},
}

BARE = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}
"""What keeps a shell from reading anybody's settings."""
BASH = """source "$1"
words=($2)
complete_by=$(complete -p graphfix | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE=$2 COMP_POINT=${#2} COMPREPLY=()
"$complete_by" graphfix "${words[-1]}" "${words[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """source $argv[1]
complete -C $argv[2] | string replace -r '\\t.*' ''
"""
ZSH = """zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PROMPT= RPS1= ; cd ${(q)PWD}; fpath=(${(q)1:h} \\$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell "bindkey '^I' complete-word; zstyle ':completion:*' list-grouped no; stty cols 200; echo R''EADY"
zpty -r shell output '*READY*'
zpty -w -n shell "$2"$'\\t\\t\\C-a\\C-e'
zpty -w shell " ;: E''ND"
sleep 1
zpty -r -t shell output '*END*'
print -r -- "$output"
zpty -d shell
"""


def offered_by(shell: str, program: str, folder: Path, line: str) -> str:
    """What the shell says when a line was begun in a folder with one model."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "some_model.onnx").touch()
    scripts = folder / "scripts"
    scripts.mkdir()
    script = scripts / "_graphfix"
    script.write_text(running.completion_script(shell) + "\n", encoding="utf-8")
    run = (
        [found, "--no-config", "-c", program]
        if shell == "fish"
        else [found, "-f" if shell == "zsh" else "--norc", "-c"]
    )
    arguments = [str(script), line] if shell == "fish" else [program, shell, str(script), line]
    done = subprocess.run([*run, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("line", "words"), BEGUN.items(), ids=BEGUN)
@pytest.mark.parametrize(("shell", "program"), [("bash", BASH), ("fish", FISH)], ids=["bash", "fish"])
def test_bash_and_fish_complete_what_was_begun(
    tmp_path: Path, shell: str, program: str, line: str, words: set[str]
) -> None:
    assert set(offered_by(shell, program, tmp_path, line).split()) == words


@pytest.mark.ci
@pytest.mark.parametrize(
    "line", ["graphfix ver", "graphfix fix --only equal", "graphfix show some", "graphfix explain ethos"]
)
def test_zsh_completes_what_was_begun(tmp_path: Path, line: str) -> None:
    (word,) = BEGUN[line]
    assert f"{line.rpartition(' ')[0]} {word}" in offered_by("zsh", ZSH, tmp_path, line)


def test_bash_is_there_where_everything_is_tested() -> None:
    assert shutil.which("bash") is not None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_rewrite_target_and_code_is_known_to_the_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    said = ask(capsys, "completion", shell)
    assert (said.status, said.err) == (0, "")
    assert [name for name in (*registry.REWRITES, *registry.TARGETS, "GF101") if name not in said.out] == []


def test_without_shtab_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(GraphfixError, match="pip install shtab"):
        running.completion_script("bash")
