#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# As directory-100k-stable-offsets, with fewer entries.
# shellcheck disable=SC2034 # read there
ENTRIES=10000
# shellcheck source=tests/cases/directory-100k-stable-offsets.sh
. "$SOURCE/tests/cases/directory-100k-stable-offsets.sh"
