#!/usr/bin/env bash
# Installs the Debian packages of the named groups of packages.txt that are missing:
#     scripts/install-packages.sh GROUP...
# Where nothing is missing it changes nothing, and needs neither a network nor root.
set -euo pipefail
list=$(dirname "${BASH_SOURCE[0]}")/packages.txt

wanted() {
    local group
    for group in "$@"; do
        sed -n "/^\[$group\]/,/^\[/p" "$list" | sed -E '/^(\[|#|$)/d'
    done
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian or Ubuntu system: the packages of $list have to be there already." >&2
    exit 0
fi

missing=()
for package in $(wanted "$@"); do
    is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "As root, please run: apt-get update && apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null
