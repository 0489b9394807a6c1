#!/usr/bin/env bash
# Checks the form of the sources:
#     scripts/lint.sh format          against .clang-format
#     scripts/lint.sh tidy BUILD      against .clang-tidy, with BUILD/compile_commands.json; RER_PATHS=1 follows all
#                                     paths through a function as well (clang's analyzer, seven times as long)
#     scripts/lint.sh shell           the shell scripts, with shellcheck
# Other versions of clang's programs format and warn differently: then the check is skipped (status 77).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=14 # Debian 12's

if [ "$1" = shell ]; then
    find scripts tests bench examples .ci -name '*.sh' -o -path '.ci/run' | sort | xargs shellcheck
    exit
fi
have=$(clang-"$1" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1)
if [ "${have%%.*}" != $version ]; then
    echo "Skipped: clang-$1 is $have; the settings are for $version."
    exit 77
fi
case $1 in
format) scripts/sources.sh | xargs clang-format --dry-run --Werror ;;
tidy)
    folders=(src cli)
    ! grep -q python/module "$2/compile_commands.json" || folders+=(python/module)
    checks=()
    [ -n "${RER_PATHS:-}" ] || checks=(--checks='-clang-analyzer-*')
    find "${folders[@]}" -name '*.c' | sort |
        xargs -P "${JOBS:-$(nproc)}" -n 1 clang-tidy -p "$2" --quiet "${checks[@]}" 2>/dev/null
    ;;
*) exit 2 ;;
esac
