#!/usr/bin/env bash
# The shared library exports what include/sluice declares, and nothing else: exports_test.sh LIBRARY
set -euo pipefail
include=$(dirname "$0")/../../include/sluice
symbols=$(nm --dynamic --defined-only --demangle "$1" | cut -d' ' -f3- | sort -u)
failed=0

# C: function by function. Those in c_device.h are in another library.
declared=$(grep -oE '\bsluice_[a-z_]+\(' "$include/c.h" | tr -d '(' | sort -u)
diff <(echo "$declared") <(grep -E '^sluice_' <<<"$symbols") >&2 ||
  { echo "The C functions declared (<) and exported (>) differ" >&2; failed=1; }

# C++: members of exported classes, and exported functions.
names=$(cat "$include"/*.h | tr '\n' ' ' |
  grep -oE '(class|struct) (\[\[nodiscard\]\] )?SLUICE_EXPORT \w+|SLUICE_EXPORT [a-zA-Z0-9_:<>]+ [A-Z]\w+\(' |
  grep -oE '\w+\(?$' | tr -d '(' | sort -u | paste -sd'|')
others=$(grep -vE '^sluice_' <<<"$symbols" |
  grep -vE "^((typeinfo|typeinfo name|vtable) for )?sluice::($names)(::|\(|\[|\$)" || true)
if [[ -n $others ]]; then
  echo "Exported, but not public:" >&2
  echo "$others" >&2
  failed=1
fi

# And some that programs cannot do without.
for name in 'sluice::DB::Open(' 'sluice::Status::ToString' 'sluice::Env::Posix(' 'sluice::MakeCpuExecutor(' \
  'sluice::WriteBatch::Put(' 'typeinfo for sluice::Executor'; do
  grep -qF "$name" <<<"$symbols" || { echo "Not exported: $name" >&2; failed=1; }
done
exit $failed
