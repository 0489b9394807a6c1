#!/usr/bin/env bash
# The C files that format and lint look at, one a line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
find include src cli python tests bench examples -name '*.[ch]' | sort
