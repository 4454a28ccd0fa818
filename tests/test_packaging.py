"""The wheel holds exactly the two packages, with every template and pack inside, and works where it is installed."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def files(folder: str) -> set[str]:
    kept = (p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {p.relative_to(ROOT).as_posix() for p in kept}


def test_the_top_level_of_the_wheel_is_exactly_the_two_packages(wheel: Path) -> None:
    top = {name.split("/")[0] for name in names(wheel)}
    assert {t for t in top if not t.endswith(".dist-info")} == {"closedset", "closedset_cli"}


def test_every_template_and_pack_is_in_the_wheel(wheel: Path) -> None:
    for folder in ("sql", "packs"):
        assert files(folder) <= {n.removeprefix("closedset/") for n in names(wheel)}


def test_every_module_is_in_the_wheel_and_no_test_is(wheel: Path) -> None:
    held = names(wheel)
    for root in ("engine", "cli"):
        assert {f.removeprefix(f"{root}/") for f in files(root) if f.endswith(".py")} <= held
    assert not [n for n in held if "test" in n.split("/")[0]]


def test_the_wheel_carries_the_licence_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        (licence,) = (n for n in packed.namelist() if n.endswith("licenses/LICENSE"))
        (points,) = (n for n in packed.namelist() if n.endswith("entry_points.txt"))
        assert "Apache License" in packed.read(licence).decode()
        assert "closedset = closedset_cli.__main__:start" in packed.read(points).decode()


def test_the_lock_names_no_host_but_the_public_ones() -> None:
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    hosts = {word.split("/")[2] for word in lock.replace('"', " ").split() if word.startswith(("http://", "https://"))}
    assert hosts <= {"pypi.org", "files.pythonhosted.org"}


@pytest.mark.slow
def test_an_installed_wheel_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment; the dependencies are lent from this one, so that no network is asked."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True, timeout=300
    )
    (site,) = home.glob("lib/python*/site-packages")
    lent = [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    (site / "lent.pth").write_text("".join(f"{p}\n" for p in lent), encoding="utf-8")
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    where = subprocess.run(
        [python, "-c", "import closedset, closedset_cli; print(closedset.__file__, closedset_cli.__file__)"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert all(one.startswith(str(home)) for one in where.stdout.split())
    done = subprocess.run(
        [home / "bin" / "closedset", "demo"], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "showing 3 of 996" in done.stdout
    assert not list(tmp_path.glob("closedset-demo-*"))
