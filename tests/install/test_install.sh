#!/usr/bin/env bash
# Installs into an empty prefix and uses the result as a stranger would: the example built with
# find_package and with pkg-config, the header from C++, the command, the man page.
#     test_install.sh SOURCE BUILD PYTHON
set -euo pipefail
source=$1
build=$2
python=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
fail() {
    echo "$*" >&2
    exit 1
}

cmake --install "$build" --prefix "$prefix" >/dev/null
libdir=$(dirname "$(find "$prefix" -name librer.so)")
version=$("$prefix/bin/rer" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')

echo "the headers are plain C and C++"
printf '#include <rer_studies.h>\nint main() { return rer_version() == 0; }\n' >"$folder/plain.c"
cp "$folder/plain.c" "$folder/plain.cpp"
cc -std=c11 -pedantic-errors -Wall -Wextra -Werror -I"$prefix/include" -c "$folder/plain.c" -o "$folder/plain.o"
c++ -std=c++11 -pedantic-errors -Wall -Wextra -Werror -I"$prefix/include" "$folder/plain.cpp" -L"$libdir" -lrer \
    -Wl,-rpath,"$libdir" -o "$folder/plain"
"$folder/plain"

echo "the example builds with find_package and with pkg-config, and finds what was planted"
export PKG_CONFIG_PATH=$libdir/pkgconfig
[ "$(pkg-config --modversion rer)" = "$version" ] || fail "rer.pc has another version"
cmake -S "$source/examples" -B "$folder/example" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$folder/example" >/dev/null
# shellcheck disable=SC2046
cc -std=c17 -Wall -Wextra -Werror "$source/examples/find_mistakes.c" -o "$folder/by-pkg-config" \
    $(pkg-config --cflags --libs rer) -Wl,-rpath,"$libdir"
cd "$folder"
"$python" -B "$source/tests/install/make_data.py"
for program in example/find_mistakes ./by-pkg-config; do
    "$program" X.npy y.npy 6 >found
    head -1 found | grep -q '^300 samples, 3 classes, 6 flagged, noise rate 0\.0' || fail "$program says: $(cat found)"
    sed -n 's/^row \([0-9]*\): .*/\1/p' found | sort -n | tr '\n' ' ' | grep -qx '0 1 2 3 4 5 ' ||
        fail "$program finds other rows than 0 to 5: $(cat found)"
    grep -q "^row 0: '1' is probably '0' " found || fail "$program suggests something else for row 0: $(cat found)"
    if "$program" missing.npy y.npy 2>message; then
        fail "$program takes a missing file"
    fi
    grep -q missing.npy message || fail "the message does not name the file: $(cat message)"
done

echo "the man page is where man looks"
[ -f "$prefix/share/man/man1/rer.1" ] || fail "no man page"

echo "completions are where each shell looks for them"
for script in bash-completion/completions/rer zsh/site-functions/_rer fish/vendor_completions.d/rer.fish; do
    shell=${script%%-*}
    cmp <("$prefix/bin/rer" completions "${shell%%/*}") "$prefix/share/$script" || fail "no completions in $script"
done
