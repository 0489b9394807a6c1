#!/usr/bin/env bash
# The Debian packages: built, looked at by lintian, installed into a system that has nothing else, and used there.
#     test_deb.sh SOURCE
# Where no chroot can be made (no right to, no network), they are unpacked into an empty folder and used from there.
set -euo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}

echo "the packages build, and lintian finds no error"
"$source/scripts/deb.sh" "$folder/made" >"$folder/log" 2>&1 || fail "$(tail -30 "$folder/log")"
packages=("$folder"/made/{librer1,librer-dev,rer,python3-rer}_*.deb)
[ ${#packages[@]} = 4 ] || fail "packages: ${packages[*]}"
[ -n "$(dpkg-deb -f "${packages[0]}" Built-Using)" ] || fail "librer1 does not say what is built in"
[[ $(dpkg-deb --ctrl-tarfile "${packages[0]}" | tar -xO ./symbols) == *"rer_analyze@RER_0.2 0.2.0"* ]] ||
    fail "the symbols do not say since when they are there"
for licence in libopenblas-serial-dev librandom123-dev; do
    dpkg-deb --fsys-tarfile "${packages[0]}" | tar -xO "./usr/share/doc/librer1/copyright.$licence" |
        grep -ci copyright >/dev/null || fail "librer1 has no licence of $licence"
done

# in_chroot: a minimal system of this release, where apt installs the packages and what they need, and nothing else.
in_chroot() {
    local release
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mkdir "$folder/hand"
    cp "${packages[@]}" "$folder/hand"
    (cd "$source" && tar -c debian/tests examples/find_mistakes.c tests/install/make_data.py | tar -x -C "$folder/hand")
    # shellcheck disable=SC2016
    mmdebstrap --quiet --variant=apt --format=null --customize-hook="touch $folder/is_possible" \
        --customize-hook="copy-in $folder/hand /opt" \
        --customize-hook='chroot "$1" sh -c "apt-get install -y -q --no-install-recommends /opt/hand/*.deb gcc libc6-dev pkg-config >/dev/null"' \
        --customize-hook='chroot "$1" sh -c "cd /opt/hand && debian/tests/installed" >&2' \
        "$release" >"$folder/chroot.log" 2>&1
}

in_empty_root() {
    local root=$folder/root library package
    mkdir "$root"
    for package in "${packages[@]}"; do
        dpkg-deb -x "$package" "$root"
    done
    library=$(dirname "$(find "$root" -name librer.so)")
    sed -i "s|^prefix=.*|prefix=$root/usr|" "$library/pkgconfig/rer.pc"
    "${PYTHON:-python3}" -c 'import numpy' || fail "PYTHON has no numpy"
    (cd "$source" && PATH=$root/usr/bin:$PATH LD_LIBRARY_PATH=$library PKG_CONFIG_PATH=$library/pkgconfig \
        PYTHONPATH=$root/usr/lib/python3/dist-packages debian/tests/installed)
}

echo "they work in a system of their own"
if in_chroot; then
    grep -qx "the packages work" "$folder/chroot.log" || fail "$(cat "$folder/chroot.log")"
    echo "in a fresh chroot"
elif [ -f "$folder/is_possible" ]; then
    fail "$(tail -30 "$folder/chroot.log")"
else
    in_empty_root
    echo "in an empty root"
fi
