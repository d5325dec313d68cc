"""What the tests have in common: a seed like all tests of Sluice, and a database to use."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import hypothesis.core
import pytest

import sluice


def pytest_configure(config: pytest.Config) -> None:
    # Where there is shared memory, because syncing takes most of the time elsewhere. A directory for
    # this run alone: pytest's own is shared by all runs of a user, each of which tidies it.
    shared_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.TemporaryDirectory(prefix="sluice-pytest-", dir=shared_memory)
    config.add_cleanup(scratch.cleanup)
    tempfile.tempdir = scratch.name
    seed = int(os.environ.get("SLUICE_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SLUICE_SEED={seed}")
    hypothesis.core.global_force_seed = seed  # type: ignore[assignment]
    rounds = int(os.environ.get("SLUICE_ROUNDS") or 1)
    hypothesis.settings.register_profile(
        "sluice", database=None, deadline=None, max_examples=120 * rounds, print_blob=False
    )
    hypothesis.settings.load_profile("sluice")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[sluice.DB]:
    with sluice.open(path, create_if_missing=True) as opened:
        yield opened
