#!/usr/bin/env bash
# The package as others get it: `pip install .` into an environment of its own, whose wheel must be one
# for the stable ABI, and the example with it:
#   install_test.sh SOURCE SCRATCH ENGINE CC CXX
#
# What was built stays in SCRATCH, so that only the first run takes minutes. What pip would download
# comes from build/venv: tests need no network.
set -euo pipefail
source=$1 scratch=$2 engine=$3
export CC=$4 CXX=$5
mkdir -p "$scratch"
cd "$scratch"
python=$source/build/venv/bin/python

rm -rf venv wheels db
"$python" -m pip wheel "$source" --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --no-cache-dir --wheel-dir wheels --config-settings=build-dir="$scratch/build" \
  --config-settings=cmake.define.SLUICE_PYTHON_ENGINE="$engine"
wheel=$(echo wheels/*.whl)
case $wheel in
  wheels/sluice-*-cp311-abi3-linux_x86_64.whl) ;;
  *) echo "No wheel for the stable ABI: $wheel" >&2; exit 1 ;;
esac

"$python" -m venv --without-pip venv
"$python" -m pip --python venv/bin/python install --quiet --disable-pip-version-check --no-deps \
  --no-index "$wheel"
# The packages that it depends on.
"$python" -c 'import site; print(site.getsitepackages()[0])' \
  >"$(echo venv/lib/python3*/site-packages)/dependencies.pth"
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
cd venv  # where no other sluice is
bin/python - "$version" <<'CHECK'
import importlib.metadata
import pathlib
import sys

import sluice
import sluice._core

assert pathlib.Path(sluice.__file__).is_relative_to(sys.prefix), sluice.__file__
assert sluice._core.__file__.endswith("/_core.abi3.so"), sluice._core.__file__
assert (pathlib.Path(sluice.__file__).parent / "py.typed").exists()
metadata = importlib.metadata.metadata("sluice")
assert metadata["Version"] == sys.argv[1], metadata["Version"]
assert metadata["License-Expression"] == "Apache-2.0 OR GPL-2.0-only"
assert any(line.startswith("nanobind-backend") for line in metadata.get_all("Requires-Dist"))
CHECK

expected=$'runs/2 8.0 km\nruns/1 5.2 km\nruns: 2'
printed=$(bin/python "$source/examples/python/main.py" ../db)
[[ $printed == "$expected" ]] || { echo "The example printed: $printed" >&2; exit 1; }

# Nothing of the engine is there for others: another Sluice in the process stays another one.
exported=$(nm --dynamic --defined-only --demangle lib/python3*/site-packages/sluice/_core.abi3.so |
  cut -d' ' -f3-)
grep -qx PyInit__core <<<"$exported"
if grep -E '^sluice::|^vtable for sluice::|^sluice_' <<<"$exported"; then
  echo "Exported (above), but nobody else's" >&2
  exit 1
fi
echo "install_test passed"
